#include "kernels/table.h"

#include <algorithm>
#include <cmath>

#include "kernels/table_read.h"

namespace dptrain::kernels {
namespace {

struct Jet {
  double f, d, s;  // G, h G', h^2 G''
};

KOKKOS_FORCEINLINE_FUNCTION Jet jet_at(const double *jets, long block, long k)
{
  return {jets[k], jets[block + k], jets[2 * block + k]};
}

// a_k of G(u) = sum a_k u^k between the jets of two knots: the Hermite interpolant in powers.
KOKKOS_FORCEINLINE_FUNCTION void polynomial(const Jet &p, const Jet &q, double *a)
{
  const double s0 = 0.5 * p.s, s1 = 0.5 * q.s, diff = q.f - p.f;
  a[0] = p.f;
  a[1] = p.d;
  a[2] = s0;
  a[3] = 10.0 * diff - 6.0 * p.d - 4.0 * q.d - 3.0 * s0 + s1;
  a[4] = -15.0 * diff + 8.0 * p.d + 7.0 * q.d + 3.0 * s0 - 2.0 * s1;
  a[5] = 6.0 * diff - 3.0 * p.d - 3.0 * q.d - s0 + s1;
}

// Transpose of the part of `polynomial` that reads the first or the second knot.
KOKKOS_FORCEINLINE_FUNCTION Jet polynomial_gradient_first(const double *a)
{
  return {a[0] - 10.0 * a[3] + 15.0 * a[4] - 6.0 * a[5],
          a[1] - 6.0 * a[3] + 8.0 * a[4] - 3.0 * a[5],
          0.5 * (a[2] - 3.0 * a[3] + 3.0 * a[4] - a[5])};
}

KOKKOS_FORCEINLINE_FUNCTION Jet polynomial_gradient_second(const double *a)
{
  return {10.0 * a[3] - 15.0 * a[4] + 6.0 * a[5], -4.0 * a[3] + 7.0 * a[4] - 3.0 * a[5],
          0.5 * (a[3] - 2.0 * a[4] + a[5])};
}

// Block k of the table of one channel.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void fill_block(HermiteLayout, const double *jets, long block,
                                            int channels, int k, int width, int m, Real *row)
{
  const Jet here = jet_at(jets, block, static_cast<long>(k) * channels + m);
  row[m] = here.f;
  row[width + m] = here.d;
  row[2 * width + m] = here.s;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void fill_block(PolynomialLayout, const double *jets, long block,
                                            int channels, int k, int width, int m, Real *row)
{
  double a[6];
  polynomial(jet_at(jets, block, static_cast<long>(k) * channels + m),
             jet_at(jets, block, static_cast<long>(k + 1) * channels + m), a);
  for (int l = 0; l < 6; ++l) row[l * width + m] = static_cast<Real>(a[l]);
}

// What the gradient of the table of one channel gives to the jet of knot k.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Jet knot_gradient(HermiteLayout, const Real *rows, int k, int,
                                              int width, int m)
{
  const Real *r = rows + 3L * k * width + m;
  return {r[0], r[width], r[2 * width]};
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Jet knot_gradient(PolynomialLayout, const Real *rows, int k, int knots,
                                              int width, int m)
{
  Jet sum{0.0, 0.0, 0.0};
  double a[6];
  for (int side = 0; side < 2; ++side) {
    const int interval = k - side;
    if (interval < 0 || interval >= knots - 1) continue;
    for (int l = 0; l < 6; ++l) a[l] = rows[(6L * interval + l) * width + m];
    const Jet g = side == 0 ? polynomial_gradient_first(a) : polynomial_gradient_second(a);
    sum.f += g.f;
    sum.d += g.d;
    sum.s += g.s;
  }
  return sum;
}

}  // namespace

template <class Real>
void fill_table(const double *jets, int knots, int num_padding, int channels, int width, Real *rows)
{
  const long block = static_cast<long>(knots + num_padding) * channels;
  const int blocks = TableLayout<Real>::blocks(knots);
  Real *padding = rows + static_cast<long>(rows_per_interval<Real>) * blocks * width;
  launch(
      "dptrain::fill_table", one_team_each(blocks + num_padding), KOKKOS_LAMBDA(const Team &team) {
        const int k = team.league_rank();
        if (k >= blocks) {
          const double *value = jets + static_cast<long>(knots + k - blocks) * channels;
          Real *row = padding + static_cast<long>(k - blocks) * width;
          team_for(team, width, [=](int m) DPTRAIN_ALWAYS_INLINE {
            row[m] = m < channels ? static_cast<Real>(value[m]) : Real(0);
          });
          return;
        }
        Real *row = rows + static_cast<long>(rows_per_interval<Real>) * k * width;
        team_for(team, channels, [=](int m) DPTRAIN_ALWAYS_INLINE {
          fill_block(TableLayout<Real>(), jets, block, channels, k, width, m, row);
        });
        team_for(team, width - channels, [=](int m) DPTRAIN_ALWAYS_INLINE {
          for (int l = 0; l < rows_per_interval<Real>; ++l) row[l * width + channels + m] = 0;
        });
      });
}

template <class Real>
void table_gradient(const Real *rows, int knots, int num_padding, int channels, int width,
                    double *jets)
{
  const long block = static_cast<long>(knots + num_padding) * channels;
  const int blocks = TableLayout<Real>::blocks(knots);
  const Real *padding = rows + static_cast<long>(rows_per_interval<Real>) * blocks * width;
  launch(
      "dptrain::table_gradient", one_team_each(knots + num_padding),
      KOKKOS_LAMBDA(const Team &team) {
        const int k = team.league_rank();
        double *g = jets + static_cast<long>(k) * channels;
        team_for(team, channels, [=](int m) DPTRAIN_ALWAYS_INLINE {
          Jet sum{0.0, 0.0, 0.0};
          if (k >= knots)
            sum.f = padding[static_cast<long>(k - knots) * width + m];
          else
            sum = knot_gradient(TableLayout<Real>(), rows, k, knots, width, m);
          g[m] = sum.f;
          g[block + m] = sum.d;
          g[2 * block + m] = sum.s;
        });
      });
}

std::pair<double, double> table_error(const double *jets, int knots, int num_padding, int channels,
                                      const double *exact)
{
  const long block = static_cast<long>(knots + num_padding) * channels;
  const long n = 3L * (knots - 1) * channels;
  double largest[2] = {0.0, 0.0}, difference[2] = {0.0, 0.0};
  for (int point = 0; point < 3; ++point) {
    Read<double> read;
    interpolation_basis(HermiteLayout(), table_check_points[point], 1.0, read);
    const double *w = point == 0 ? read.w : read.dw;
    const int kind = point == 0 ? 0 : 1;
    for (int k = 0; k + 1 < knots; ++k)
      for (int m = 0; m < channels; ++m) {
        const Jet p = jet_at(jets, block, static_cast<long>(k) * channels + m);
        const Jet q = jet_at(jets, block, static_cast<long>(k + 1) * channels + m);
        const long place = (3L * k + point) * channels + m;
        const double found =
            w[0] * p.f + w[1] * p.d + w[2] * p.s + w[3] * q.f + w[4] * q.d + w[5] * q.s;
        difference[kind] = std::max(difference[kind], std::abs(found - exact[kind * n + place]));
        largest[0] = std::max(largest[0], std::abs(exact[place]));
        largest[1] = std::max(largest[1], std::abs(exact[n + place]));
      }
  }
  // an almost constant net has a slope of rounding errors only: its scale is then that of G over the range
  largest[1] = std::max(largest[1], largest[0] / (knots - 1));
  const auto ratio = [](double d, double scale) { return scale > 0.0 ? d / scale : 0.0; };
  return {ratio(difference[0], largest[0]), ratio(difference[1], largest[1])};
}

template void fill_table(const double *, int, int, int, int, double *);
template void fill_table(const double *, int, int, int, int, float *);
template void table_gradient(const double *, int, int, int, int, double *);
template void table_gradient(const float *, int, int, int, int, double *);

}  // namespace dptrain::kernels
