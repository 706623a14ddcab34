#include "kernels/nep_spectrum.h"

#include "kernels/harmonics.h"
#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

namespace {

/// (2 l + 1) / (4 pi)
template <class Real> KOKKOS_FORCEINLINE_FUNCTION Real weight(int l)
{
  return Real(0.07957747154594766788) * Real(2 * l + 1);
}

/// Sum over the harmonics of degree l.
template <class Real> KOKKOS_FORCEINLINE_FUNCTION Real dot(int l, const Real *x, const Real *y)
{
  Real sum = 0;
  for (int lm = l * l; lm < (l + 1) * (l + 1); ++lm) sum += x[lm] * y[lm];
  return weight<Real>(l) * sum;
}

/// work(center, channel) for all angular channels.
template <class Real, class Work>
void for_channels(const char *name, const NepShape<Real> &s, const Work &work)
{
  launch(
      name, one_team_each(s.centers, 0), KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        team_for(team, s.angular, [=](int n) { work(i, n); });
      });
}

/// Where the coefficients of a channel of a center begin, and its numbers in D, which are `angular` apart.
template <class Real> struct Places {
  long coefficients, numbers;
  KOKKOS_FORCEINLINE_FUNCTION Places(const NepShape<Real> &s, int i, int n, int size) :
      coefficients((static_cast<long>(n) * s.centers + i) * num_harmonics(s.l_max)),
      numbers(static_cast<long>(i) * size + s.radial + n)
  {
  }
};

/// Radial numbers: the coefficients themselves, or back.
template <class Real>
void copy_radial(const char *name, const NepShape<Real> &s, const Real *from, Real *to, bool back)
{
  const int size = s.size();
  launch(
      name, one_team_each(s.centers, 0), KOKKOS_LAMBDA(const Team &team) {
        const int i = team.league_rank();
        team_for(team, s.radial, [=](int n) {
          const long place = static_cast<long>(n) * s.centers + i,
                     number = static_cast<long>(i) * size + n;
          if (back)
            to[place] = s.scale[n] * from[number];
          else
            to[number] = s.scale[n] * from[place];
        });
      });
}

}  // namespace

template <class Real>
void nep_value(const NepShape<Real> &s, const Real *radial, const Real *angular, Real *d)
{
  copy_radial("dptrain::nep_radial", s, radial, d, false);
  const int size = s.size();
  for_channels(
      "dptrain::nep_value", s, KOKKOS_LAMBDA(int i, int n) {
        const Places<Real> at(s, i, n, size);
        const Real *a = angular + at.coefficients, *scale = s.scale + s.radial + n;
        Real *target = d + at.numbers;
        for (int block = s.l_max; block < s.blocks; ++block) target[block * s.angular] = 0;
        for (int l = 1; l <= s.l_max; ++l) target[(l - 1) * s.angular] = dot(l, a, a);
        for (int p = 0; p < s.num_products; ++p) {
          const ThreeFold<Real> c = s.products[p];
          target[c.block * s.angular] += c.factor * a[c.i] * a[c.j] * a[c.k];
        }
        if (s.quartic_block >= 0)
          target[s.quartic_block * s.angular] = s.quartic * target[0] * target[0];
        for (int block = 0; block < s.blocks; ++block)
          target[block * s.angular] *= scale[block * s.angular];
      });
}

template <class Real>
void nep_jvp(const NepShape<Real> &s, const Real *angular, const Real *radial_dot,
             const Real *angular_dot, Real *d_dot)
{
  copy_radial("dptrain::nep_radial", s, radial_dot, d_dot, false);
  const int size = s.size();
  for_channels(
      "dptrain::nep_jvp", s, KOKKOS_LAMBDA(int i, int n) {
        const Places<Real> at(s, i, n, size);
        const Real *a = angular + at.coefficients, *v = angular_dot + at.coefficients,
                   *scale = s.scale + s.radial + n;
        Real *target = d_dot + at.numbers;
        for (int block = s.l_max; block < s.blocks; ++block) target[block * s.angular] = 0;
        for (int l = 1; l <= s.l_max; ++l) target[(l - 1) * s.angular] = 2 * dot(l, a, v);
        for (int p = 0; p < s.num_products; ++p) {
          const ThreeFold<Real> c = s.products[p];
          target[c.block * s.angular] +=
              c.factor *
              (v[c.i] * a[c.j] * a[c.k] + a[c.i] * v[c.j] * a[c.k] + a[c.i] * a[c.j] * v[c.k]);
        }
        if (s.quartic_block >= 0)
          target[s.quartic_block * s.angular] = 2 * s.quartic * dot(1, a, a) * target[0];
        for (int block = 0; block < s.blocks; ++block)
          target[block * s.angular] *= scale[block * s.angular];
      });
}

template <class Real>
void nep_reverse(const NepShape<Real> &s, const Real *angular, const Real *g_d, Real *g_radial,
                 Real *g_angular)
{
  copy_radial("dptrain::nep_radial", s, g_d, g_radial, true);
  const int size = s.size();
  for_channels(
      "dptrain::nep_reverse", s, KOKKOS_LAMBDA(int i, int n) {
        const Places<Real> at(s, i, n, size);
        const Real *a = angular + at.coefficients, *scale = s.scale + s.radial + n,
                   *from = g_d + at.numbers;
        Real *g = g_angular + at.coefficients;
        g[0] = 0;
        for (int l = 1; l <= s.l_max; ++l) {
          Real factor = scale[(l - 1) * s.angular] * from[(l - 1) * s.angular];
          if (l == 1 && s.quartic_block >= 0)
            factor += 2 * s.quartic * dot(1, a, a) * scale[s.quartic_block * s.angular] *
                      from[s.quartic_block * s.angular];
          factor *= 2 * weight<Real>(l);
          for (int lm = l * l; lm < (l + 1) * (l + 1); ++lm) g[lm] = factor * a[lm];
        }
        for (int p = 0; p < s.num_products; ++p) {
          const ThreeFold<Real> c = s.products[p];
          const Real factor = c.factor * scale[c.block * s.angular] * from[c.block * s.angular];
          g[c.i] += factor * a[c.j] * a[c.k];
          g[c.j] += factor * a[c.i] * a[c.k];
          g[c.k] += factor * a[c.i] * a[c.j];
        }
      });
}

template <class Real>
void nep_jvp_reverse(const NepShape<Real> &s, const Real *angular, const Real *angular_dot,
                     const Real *s_d, const Real *e_d, Real *s_radial, Real *s_angular)
{
  copy_radial("dptrain::nep_radial", s, s_d, s_radial, true);
  const int size = s.size();
  for_channels(
      "dptrain::nep_jvp_reverse", s, KOKKOS_LAMBDA(int i, int n) {
        const Places<Real> at(s, i, n, size);
        const Real *a = angular + at.coefficients, *v = angular_dot + at.coefficients,
                   *scale = s.scale + s.radial + n, *by_d = s_d + at.numbers,
                   *by_dot = e_d + at.numbers;
        Real *g = s_angular + at.coefficients;
        g[0] = 0;
        for (int l = 1; l <= s.l_max; ++l) {
          const int number = (l - 1) * s.angular;
          Real of_a = scale[number] * by_d[number], of_v = scale[number] * by_dot[number];
          if (l == 1 && s.quartic_block >= 0) {
            const int quartic = s.quartic_block * s.angular;
            const Real q = dot(1, a, a), q_dot = 2 * dot(1, a, v),
                       factor = 2 * s.quartic * scale[quartic];
            of_a += factor * (q * by_d[quartic] - q_dot * by_dot[quartic]);
            of_v += factor * q * by_dot[quartic];
          }
          const Real twice = 2 * weight<Real>(l);
          for (int lm = l * l; lm < (l + 1) * (l + 1); ++lm)
            g[lm] = twice * (of_a * a[lm] - of_v * v[lm]);
        }
        for (int p = 0; p < s.num_products; ++p) {
          const ThreeFold<Real> c = s.products[p];
          const int number = c.block * s.angular;
          const Real factor = c.factor * scale[number], of_a = factor * by_d[number],
                     of_v = factor * by_dot[number];
          g[c.i] += of_a * a[c.j] * a[c.k] - of_v * (v[c.j] * a[c.k] + a[c.j] * v[c.k]);
          g[c.j] += of_a * a[c.i] * a[c.k] - of_v * (v[c.i] * a[c.k] + a[c.i] * v[c.k]);
          g[c.k] += of_a * a[c.i] * a[c.j] - of_v * (v[c.i] * a[c.j] + a[c.i] * v[c.j]);
        }
      });
}

#define DPTRAIN_INSTANTIATE(Real)                                                                  \
  template void nep_value(const NepShape<Real> &, const Real *, const Real *, Real *);             \
  template void nep_jvp(const NepShape<Real> &, const Real *, const Real *, const Real *, Real *); \
  template void nep_reverse(const NepShape<Real> &, const Real *, const Real *, Real *, Real *);   \
  template void nep_jvp_reverse(const NepShape<Real> &, const Real *, const Real *, const Real *,  \
                                const Real *, Real *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
