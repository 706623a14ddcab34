#include "kernels/descriptor.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

// d_ma (+)= sum_c x_cm y_ca for all channels m and axis channels a.
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

// The transpose below for n axis channels (columns of gd, y_axis, g_axis), whose sums stay in registers.
template <class Real, bool subtract, int n>
KOKKOS_FORCEINLINE_FUNCTION void transpose_block(const DescriptorShape &s, const Real *gd,
                                                 const Real *y, const Real *y_axis, Real *g,
                                                 Real *g_axis)
{
  constexpr Real sign = subtract ? -1 : 1;
  const int width = s.width;
  Real own[4][n], sum[4][n] = {};
  for (int c = 0; c < 4; ++c)
    for (int a = 0; a < n; ++a) own[c][a] = sign * y_axis[c * width + a];
  for (int m = 0; m < s.channels; ++m) {
    const Real *gm = gd + static_cast<long>(m) * s.axis;
    const Real t0 = sign * y[m], t1 = sign * y[width + m], t2 = sign * y[2 * width + m],
               t3 = sign * y[3 * width + m];
    Real s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") for (int a = 0; a < n; ++a)
    {
      const Real q = gm[a];
      s0 += q * own[0][a];
      s1 += q * own[1][a];
      s2 += q * own[2][a];
      s3 += q * own[3][a];
      sum[0][a] += q * t0;
      sum[1][a] += q * t1;
      sum[2][a] += q * t2;
      sum[3][a] += q * t3;
    }
    g[m] += s0;
    g[width + m] += s1;
    g[2 * width + m] += s2;
    g[3 * width + m] += s3;
  }
  for (int c = 0; c < 4; ++c)
    for (int a = 0; a < n; ++a) g_axis[c * width + a] += sum[c][a];
}

// Transpose of D = T^T T_<: g_cm = (or -=) sum_a gd_ma y_ca over all channels, and g_ca += sum_m gd_ma y_cm over the axis ones.
// `copy`: scratch memory of a device's team for gd with rows of axis + 1 numbers, so that lanes which read different rows do
// not wait for each other.
template <class Real, bool subtract>
KOKKOS_FORCEINLINE_FUNCTION void transpose(const Team &team, const DescriptorShape &s,
                                           const Real *gd, const Real *y, Real *g,
                                           [[maybe_unused]] Real *copy)
{
#if DPTRAIN_DEVICE_PASS
  const int stride = s.axis + 1;
  team_for(team, s.channels * s.axis,
           [=](int k) { copy[k / s.axis * stride + k % s.axis] = gd[k]; });
  team_for(team, 4 * s.width, [=](int k) {
    const int c = k / s.width, m = k % s.width;
    Real sum = 0;
    if (m < s.channels)
      for (int a = 0; a < s.axis; ++a) sum += copy[m * stride + a] * y[c * s.width + a];
    if (m < s.axis)
      for (int n = 0; n < s.channels; ++n) sum += copy[n * stride + m] * y[c * s.width + n];
    g[k] = subtract ? g[k] - sum : sum;
  });
#else
  (void) team;
  if (!subtract)
    for (int k = 0; k < 4 * s.width; ++k) g[k] = 0;
  for (int begin = 0; begin < s.axis;) {
    const int left = s.axis - begin;
    if (left >= 16)
      transpose_block<Real, subtract, 16>(s, gd + begin, y, y + begin, g, g + begin);
    else if (left >= 8)
      transpose_block<Real, subtract, 8>(s, gd + begin, y, y + begin, g, g + begin);
    else if (left >= 4)
      transpose_block<Real, subtract, 4>(s, gd + begin, y, y + begin, g, g + begin);
    else
      transpose_block<Real, subtract, 1>(s, gd + begin, y, y + begin, g, g + begin);
    begin += left >= 16 ? 16 : (left >= 8 ? 8 : (left >= 4 ? 4 : 1));
  }
#endif
}

struct Sizes {
  long t, d;
};

// Scratch memory of `transpose`.
template <class Real> std::size_t copy_bytes(const DescriptorShape &s)
{
  return on_device ? static_cast<std::size_t>(s.channels) * (s.axis + 1) * sizeof(Real) + 64 : 0;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real *copy_memory(const Team &team, std::size_t bytes)
{
  return bytes > 0 ? reinterpret_cast<Real *>(team_scratch(team, bytes)) : nullptr;
}

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
  const std::size_t bytes = copy_bytes<Real>(s);
  launch(
      "dptrain::descriptor_reverse", one_team_each(s.centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        Real *copy = copy_memory<Real>(team, bytes);
        transpose<Real, false>(team, s, g_d + i * n.d, t + i * n.t, g_t + i * n.t, copy);
      });
}

template <class Real>
void descriptor_jvp_reverse(const DescriptorShape &s, const Real *t, const Real *t_dot,
                            const Real *g_d, const Real *e_d, Real *g_t)
{
  const Sizes n = sizes(s);
  const std::size_t bytes = copy_bytes<Real>(s);
  launch(
      "dptrain::descriptor_jvp_reverse", one_team_each(s.centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        Real *copy = copy_memory<Real>(team, bytes);
        transpose<Real, false>(team, s, g_d + i * n.d, t + i * n.t, g_t + i * n.t, copy);
        transpose<Real, true>(team, s, e_d + i * n.d, t_dot + i * n.t, g_t + i * n.t, copy);
      });
}

#define DPTRAIN_INSTANTIATE(Real)                                                                \
  template void descriptor_value(const DescriptorShape &, const Real *, Real *);                 \
  template void descriptor_jvp(const DescriptorShape &, const Real *, const Real *, Real *);     \
  template void descriptor_reverse(const DescriptorShape &, const Real *, const Real *, Real *); \
  template void descriptor_jvp_reverse(const DescriptorShape &, const Real *, const Real *,      \
                                       const Real *, const Real *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
