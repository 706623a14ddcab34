#include "kernels/descriptor.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

// Axis channels are handled in blocks of this many, whose sums stay in registers.
constexpr int axis_block = 16;

// d_ma (+)= sum_c x_cm y_ca for all channels m and axis channels [a0, a0 + n).
template <class Real, bool add>
KOKKOS_FORCEINLINE_FUNCTION void product(const Team &team, const DescriptorShape &s, const Real *x,
                                         const Real *y, Real *d)
{
#if DPTRAIN_DEVICE_PASS
  team_for(team, s.channels * s.axis, [=](int k) {
    const int m = k / s.axis, a = k % s.axis;
    Real sum = add ? d[k] : Real(0);
    for (int c = 0; c < 4; ++c) sum += x[c * s.width + m] * y[c * s.width + a];
    d[k] = sum;
  });
#else
  (void) team;
  const Real *y0 = y, *y1 = y0 + s.width, *y2 = y1 + s.width, *y3 = y2 + s.width;
  for (int m = 0; m < s.channels; ++m) {
    const Real x0 = x[m], x1 = x[s.width + m], x2 = x[2 * s.width + m], x3 = x[3 * s.width + m];
    Real *dm = d + static_cast<long>(m) * s.axis;
    _Pragma("omp simd") for (int a = 0; a < s.axis; ++a)
    {
      const Real sum = x0 * y0[a] + x1 * y1[a] + x2 * y2[a] + x3 * y3[a];
      dm[a] = add ? dm[a] + sum : sum;
    }
  }
#endif
}

// Transpose of D = T^T T_<: g_cm = (or -=) sum_a gd_ma y_ca over all channels, and g_ca += sum_m gd_ma y_cm over the axis ones.
template <class Real, bool subtract>
KOKKOS_FORCEINLINE_FUNCTION void transpose(const Team &team, const DescriptorShape &s,
                                           const Real *gd, const Real *y, Real *g)
{
#if DPTRAIN_DEVICE_PASS
  team_for(team, 4 * s.width, [=](int k) {
    const int c = k / s.width, m = k % s.width;
    Real sum = 0;
    if (m < s.channels)
      for (int a = 0; a < s.axis; ++a) sum += gd[m * s.axis + a] * y[c * s.width + a];
    if (m < s.axis)
      for (int n = 0; n < s.channels; ++n) sum += gd[n * s.axis + m] * y[c * s.width + n];
    g[k] = subtract ? g[k] - sum : sum;
  });
#else
  (void) team;
  const int width = s.width;
  constexpr Real sign = subtract ? -1 : 1;
  if (!subtract)
    for (int k = 0; k < 4 * width; ++k) g[k] = 0;
  for (int begin = 0; begin < s.axis; begin += axis_block) {
    const int n = s.axis - begin < axis_block ? s.axis - begin : axis_block;
    Real y0[axis_block] = {}, y1[axis_block] = {}, y2[axis_block] = {}, y3[axis_block] = {};
    Real h0[axis_block] = {}, h1[axis_block] = {}, h2[axis_block] = {}, h3[axis_block] = {};
    for (int a = 0; a < n; ++a) {
      y0[a] = sign * y[begin + a];
      y1[a] = sign * y[width + begin + a];
      y2[a] = sign * y[2 * width + begin + a];
      y3[a] = sign * y[3 * width + begin + a];
    }
    for (int m = 0; m < s.channels; ++m) {
      const Real *gm = gd + static_cast<long>(m) * s.axis + begin;
      const Real t0 = sign * y[m], t1 = sign * y[width + m], t2 = sign * y[2 * width + m],
                 t3 = sign * y[3 * width + m];
      Real s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") for (int a = 0; a < n; ++a)
      {
        const Real q = gm[a];
        s0 += q * y0[a];
        s1 += q * y1[a];
        s2 += q * y2[a];
        s3 += q * y3[a];
        h0[a] += q * t0;
        h1[a] += q * t1;
        h2[a] += q * t2;
        h3[a] += q * t3;
      }
      g[m] += s0;
      g[width + m] += s1;
      g[2 * width + m] += s2;
      g[3 * width + m] += s3;
    }
    for (int a = 0; a < n; ++a) {
      g[begin + a] += h0[a];
      g[width + begin + a] += h1[a];
      g[2 * width + begin + a] += h2[a];
      g[3 * width + begin + a] += h3[a];
    }
  }
#endif
}

struct Sizes {
  long t, d;
};

Sizes sizes(const DescriptorShape &s)
{
  return {4L * s.width, static_cast<long>(s.channels) * s.axis};
}

}  // namespace

template <class Real> void descriptor_value(const DescriptorShape &s, const Real *t, Real *d)
{
  const Sizes n = sizes(s);
  launch(
      "dptrain::descriptor_value", one_team_each(s.centers), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        product<Real, false>(team, s, t + i * n.t, t + i * n.t, d + i * n.d);
      });
}

template <class Real>
void descriptor_jvp(const DescriptorShape &s, const Real *t, const Real *t_dot, Real *d_dot)
{
  const Sizes n = sizes(s);
  launch(
      "dptrain::descriptor_jvp", one_team_each(s.centers), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        product<Real, false>(team, s, t_dot + i * n.t, t + i * n.t, d_dot + i * n.d);
        product<Real, true>(team, s, t + i * n.t, t_dot + i * n.t, d_dot + i * n.d);
      });
}

template <class Real>
void descriptor_reverse(const DescriptorShape &s, const Real *t, const Real *g_d, Real *g_t)
{
  const Sizes n = sizes(s);
  launch(
      "dptrain::descriptor_reverse", one_team_each(s.centers), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        transpose<Real, false>(team, s, g_d + i * n.d, t + i * n.t, g_t + i * n.t);
      });
}

template <class Real>
void descriptor_jvp_reverse(const DescriptorShape &s, const Real *t, const Real *t_dot,
                            const Real *g_d, const Real *e_d, Real *g_t)
{
  const Sizes n = sizes(s);
  launch(
      "dptrain::descriptor_jvp_reverse", one_team_each(s.centers), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        transpose<Real, false>(team, s, g_d + i * n.d, t + i * n.t, g_t + i * n.t);
        transpose<Real, true>(team, s, e_d + i * n.d, t_dot + i * n.t, g_t + i * n.t);
      });
}

#define DPTRAIN_INSTANTIATE(Real)                                                                 \
  template void descriptor_value(const DescriptorShape &, const Real *, Real *);                  \
  template void descriptor_jvp(const DescriptorShape &, const Real *, const Real *, Real *);      \
  template void descriptor_reverse(const DescriptorShape &, const Real *, const Real *, Real *);  \
  template void descriptor_jvp_reverse(const DescriptorShape &, const Real *, const Real *,       \
                                       const Real *, const Real *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
