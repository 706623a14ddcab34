#include "kernels/layer.h"

#include "kernels/kokkos_types.h"
#include "kernels/skip.h"

namespace dptrain::kernels {
namespace {

// Columns whose rows one team sums in layer_gradient.
constexpr int columns_per_team = on_device ? 32 : 64;

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void skip_reverse(const Team &team, const LayerShape<Real> &s, long i,
                                              const Real *g_y, Real *g_x)
{
  if (s.skip == 0) return;
  const Real *source = g_y + i * s.out;
  Real *target = g_x + i * s.in;
  const int in = s.in;
  if (s.skip == 1)
    team_for(team, in, [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] = source[m]; });
  else
    team_for(team, in,
             [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] = source[m] + source[in + m]; });
}

}  // namespace

template <class Real>
void layer_reverse(const LayerShape<Real> &s, const Real *f1, const Real *g_y, Real *g_z, Real *g_x)
{
  launch(
      "dptrain::layer_reverse", one_team_each(s.n), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank(), row = i * s.out;
        const Real *idt = s.idt, *f = f1 + row, *g = g_y + row;
        Real *target = g_z + row;
        if (idt)
          team_for(team, s.out,
                   [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] = idt[m] * f[m] * g[m]; });
        else
          team_for(team, s.out, [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] = f[m] * g[m]; });
        skip_reverse(team, s, i, g_y, g_x);
      });
}

template <class Real>
void layer_tangent(const LayerShape<Real> &s, const Real *f1, const Real *z_dot, const Real *x_dot,
                   Real *y_dot)
{
  launch(
      "dptrain::layer_tangent", one_team_each(s.n), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank(), row = i * s.out;
        const Real *idt = s.idt, *f = f1 + row, *z = z_dot + row;
        Real *target = y_dot + row;
        team_for(team, s.out, [=](int m) DPTRAIN_ALWAYS_INLINE {
          target[m] = (idt ? idt[m] : Real(1)) * f[m] * z[m];
        });
        add_skip(team, s, i, x_dot, y_dot);
      });
}

template <class Real>
void layer_reverse_tangent(const LayerShape<Real> &s, const Real *f1, const Real *f2,
                           const Real *z_dot, const Real *g_y, const Real *g_y_dot, const Real *c,
                           const Real *x, Real *x_dot, Real *minus_g_z_dot, Real *g_x_dot)
{
  launch(
      "dptrain::layer_reverse_tangent", one_team_each(s.n), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank(), row = i * s.out;
        const Real *idt = s.idt, *a = f1 + row, *b = f2 + row, *z = z_dot + row, *g = g_y + row;
        const Real *d = g_y_dot ? g_y_dot + row : nullptr;
        Real *target = minus_g_z_dot + row;
        team_for(team, s.out, [=](int m) DPTRAIN_ALWAYS_INLINE {
          const Real through = d ? a[m] * d[m] : Real(0);
          target[m] = -(idt ? idt[m] : Real(1)) * (through + b[m] * z[m] * g[m]);
        });
        if (d)
          skip_reverse(team, s, i, g_y_dot, g_x_dot);
        else if (s.skip > 0)
          team_for(team, s.in,
                   [=](int m) DPTRAIN_ALWAYS_INLINE { g_x_dot[i * s.in + m] = Real(0); });
        const Real ci = c[i], *value = x + i * s.in;
        Real *tangent = x_dot + i * s.in;
        team_for(team, s.in,
                 [=](int m) DPTRAIN_ALWAYS_INLINE { tangent[m] = ci * value[m] - tangent[m]; });
      });
}

namespace {

// A row of the block of columns of a team: its weight in the loss, and where it begins.
template <class Real> struct RowPlace {
  Real c;
  long begin;
};

}  // namespace

template <class Real>
void layer_gradient(const LayerShape<Real> &s, const Real *f0, const Real *f1, const Real *z_dot,
                    const Real *g_y, const Real *g_y_dot, const Real *g_z,
                    const Real *minus_g_z_dot, const Real *c, Real *g_bias, Real *g_idt)
{
  // a team per block of columns, on a host: no two of them add to the same place
  const int blocks = (s.out + columns_per_team - 1) / columns_per_team;
  const int row_blocks = s.n > rows_per_team ? (s.n + rows_per_team - 1) / rows_per_team : 1;
  launch(
      "dptrain::layer_gradient", one_team_each(blocks * row_blocks),
      KOKKOS_LAMBDA(const Team &team) {
        const int begin = team.league_rank() % blocks * columns_per_team;
        const int size = s.out - begin < columns_per_team ? s.out - begin : columns_per_team;
        const int first = team.league_rank() / blocks * rows_per_team;
        const int rows = s.n - first < rows_per_team ? s.n - first : rows_per_team;
        const auto place = [=](int i) DPTRAIN_ALWAYS_INLINE {
          return RowPlace<Real>{c[first + i], static_cast<long>(first + i) * s.out + begin};
        };
        add_rows(team, rows, size, g_bias + begin, place,
                 [=](const RowPlace<Real> &row, int m) DPTRAIN_ALWAYS_INLINE {
                   return row.c * (g_z + row.begin)[m] + (minus_g_z_dot + row.begin)[m];
                 });
        if (!s.idt) return;
        add_rows(team, rows, size, g_idt + begin, place,
                 [=](const RowPlace<Real> &row, int m) DPTRAIN_ALWAYS_INLINE {
                   const long k = row.begin + m;
                   return (row.c * g_y[k] - (g_y_dot ? g_y_dot[k] : Real(0))) * f0[k] -
                          g_y[k] * f1[k] * z_dot[k];
                 });
      });
}

template <class Real>
void scale_and_subtract(int n, long columns, const Real *c, const Real *x, Real *x_dot)
{
  launch(
      "dptrain::scale_and_subtract", one_team_each(n), KOKKOS_LAMBDA(const Team &team) {
        const long row = team.league_rank() * columns;
        const Real ci = c[team.league_rank()];
        team_for(team, static_cast<int>(columns), [=](int m) DPTRAIN_ALWAYS_INLINE {
          x_dot[row + m] = ci * x[row + m] - x_dot[row + m];
        });
      });
}

namespace {

template <class From, class To> struct Convert {
  const From *source;
  To *target;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(long k) const
  {
    target[k] = static_cast<To>(source[k]);
  }
};

template <class From, class To> struct AddConverted {
  const From *source;
  To *target;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(long k) const
  {
    target[k] += static_cast<To>(source[k]);
  }
};

}  // namespace

template <class From, class To> void convert(const From *source, long n, To *target)
{
  for_all("dptrain::convert", n, Convert<From, To>{source, target});
}

template <class From, class To> void add_converted(const From *source, long n, To *target)
{
  for_all("dptrain::add_converted", n, AddConverted<From, To>{source, target});
}

#define DPTRAIN_INSTANTIATE(Real)                                                                  \
  template void layer_reverse(const LayerShape<Real> &, const Real *, const Real *, Real *,        \
                              Real *);                                                             \
  template void layer_tangent(const LayerShape<Real> &, const Real *, const Real *, const Real *,  \
                              Real *);                                                             \
  template void layer_reverse_tangent(const LayerShape<Real> &, const Real *, const Real *,        \
                                      const Real *, const Real *, const Real *, const Real *,      \
                                      const Real *, Real *, Real *, Real *);                       \
  template void layer_gradient(const LayerShape<Real> &, const Real *, const Real *, const Real *, \
                               const Real *, const Real *, const Real *, const Real *,             \
                               const Real *, Real *, Real *);                                      \
  template void scale_and_subtract(int, long, const Real *, const Real *, Real *);                 \
  template void convert(const double *, long, Real *);                                             \
  template void add_converted(const Real *, long, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
template void convert(const float *, long, double *);
template void convert(const float *, long, float *);
template void add_converted(const float *, long, double *);
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
