#pragma once

#include "kernels/gram.h"
#include "kernels/kokkos_types.h"

// The kernels of gram.h, for whoever compiles them for another number of rows.

namespace dptrain::kernels {

namespace detail {

// work(begin, n) for blocks of axis channels, n a constant.
template <class Work> KOKKOS_FORCEINLINE_FUNCTION void for_axis_blocks(int axis, const Work &work)
{
  for (int begin = 0; begin < axis;) {
    const int left = axis - begin;
    if (left >= 16)
      work(begin, Constant<16>());
    else if (left >= 8)
      work(begin, Constant<8>());
    else if (left >= 4)
      work(begin, Constant<4>());
    else
      work(begin, Constant<1>());
    begin += left >= 16 ? 16 : (left >= 8 ? 8 : (left >= 4 ? 4 : 1));
  }
}

// The product below for n axis channels (columns of y_axis and d).
template <int rows, bool add, int n, class Real>
KOKKOS_FORCEINLINE_FUNCTION void product_block(const GramShape &s, const Real *x,
                                               const Real *y_axis, Real *d)
{
  const int width = s.width;
  for (int m = 0; m < s.channels; ++m) {
    Real *dm = d + static_cast<long>(m) * s.axis;
    _Pragma("omp simd") for (int a = 0; a < n; ++a)
    {
      const Real sum = sum_of<rows>(
          [&](auto c) DPTRAIN_ALWAYS_INLINE { return x[c * width + m] * y_axis[c * width + a]; });
      dm[a] = add ? dm[a] + sum : sum;
    }
  }
}

// d_ma (+)= sum_c x_cm y_ca for all channels m and axis channels a.
template <int rows, bool add, class Real>
KOKKOS_FORCEINLINE_FUNCTION void product(const Team &team, const GramShape &s, const Real *x,
                                         const Real *y, Real *d)
{
#if DPTRAIN_DEVICE_PASS
  team_for(team, s.channels * s.axis, [=](int k) {
    const int m = k / s.axis, a = k % s.axis;
    Real sum = add ? d[k] : Real(0);
    for (int c = 0; c < rows; ++c) sum += x[c * s.width + m] * y[c * s.width + a];
    d[k] = sum;
  });
#else
  (void) team;
  for_axis_blocks(s.axis, [&](int begin, auto n) DPTRAIN_ALWAYS_INLINE {
    product_block<rows, add, n>(s, x, y + begin, d + begin);
  });
#endif
}

// The transpose below for n axis channels (columns of gd, y_axis, g_axis), whose sums stay in registers.
template <int rows, bool subtract, int n, class Real>
KOKKOS_FORCEINLINE_FUNCTION void transpose_block(const GramShape &s, const Real *gd, const Real *y,
                                                 const Real *y_axis, Real *g, Real *g_axis)
{
  constexpr Real sign = subtract ? -1 : 1;
  const int width = s.width;
  Real own[rows][n], sum[rows][n] = {};
  for (int c = 0; c < rows; ++c)
    for (int a = 0; a < n; ++a) own[c][a] = sign * y_axis[c * width + a];
  for (int m = 0; m < s.channels; ++m) {
    const Real *gm = gd + static_cast<long>(m) * s.axis;
    unrolled<rows / 4>([&](auto group) DPTRAIN_ALWAYS_INLINE {
      constexpr int c = 4 * group;
      const Real *ym = y + c * width + m;
      const Real t0 = sign * ym[0], t1 = sign * ym[width], t2 = sign * ym[2 * width],
                 t3 = sign * ym[3 * width];
      Real s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") for (int a = 0; a < n; ++a)
      {
        const Real q = gm[a];
        s0 += q * own[c][a];
        s1 += q * own[c + 1][a];
        s2 += q * own[c + 2][a];
        s3 += q * own[c + 3][a];
        sum[c][a] += q * t0;
        sum[c + 1][a] += q * t1;
        sum[c + 2][a] += q * t2;
        sum[c + 3][a] += q * t3;
      }
      Real *target = g + c * width + m;
      target[0] += s0;
      target[width] += s1;
      target[2 * width] += s2;
      target[3 * width] += s3;
    });
    unrolled<rows % 4>([&](auto k) DPTRAIN_ALWAYS_INLINE {
      constexpr int c = rows / 4 * 4 + k;
      const Real t = sign * y[c * width + m];
      Real of_channel = 0;
      _Pragma("omp simd reduction(+ : of_channel)") for (int a = 0; a < n; ++a)
      {
        of_channel += gm[a] * own[c][a];
        sum[c][a] += gm[a] * t;
      }
      g[c * width + m] += of_channel;
    });
  }
  for (int c = 0; c < rows; ++c)
    for (int a = 0; a < n; ++a) g_axis[c * width + a] += sum[c][a];
}

// Transpose of D = T^T T_<: g_cm = (or -=) sum_a gd_ma y_ca over all channels, and g_ca += sum_m gd_ma y_cm over the axis ones.
// `copy`: scratch memory of a device's team for gd with rows of axis + 1 numbers, so that lanes which read different rows do
// not wait for each other.
template <int rows, bool subtract, class Real>
KOKKOS_FORCEINLINE_FUNCTION void transpose(const Team &team, const GramShape &s, const Real *gd,
                                           const Real *y, Real *g, [[maybe_unused]] Real *copy)
{
#if DPTRAIN_DEVICE_PASS
  const int stride = s.axis + 1;
  team_for(team, s.channels * s.axis,
           [=](int k) { copy[k / s.axis * stride + k % s.axis] = gd[k]; });
  team_for(team, rows * s.width, [=](int k) {
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
    for (int k = 0; k < rows * s.width; ++k) g[k] = 0;
  for_axis_blocks(s.axis, [&](int begin, auto n) DPTRAIN_ALWAYS_INLINE {
    transpose_block<rows, subtract, n>(s, gd + begin, y, y + begin, g, g + begin);
  });
#endif
}

struct GramSizes {
  long t, d;
};

template <int rows> GramSizes sizes(const GramShape &s)
{
  return {static_cast<long>(rows) * s.width, static_cast<long>(s.channels) * s.axis};
}

// Scratch memory of `transpose`.
template <class Real> std::size_t copy_bytes(const GramShape &s)
{
  return on_device ? static_cast<std::size_t>(s.channels) * (s.axis + 1) * sizeof(Real) + 64 : 0;
}

template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Real *copy_memory(const Team &team, std::size_t bytes)
{
  return bytes > 0 ? reinterpret_cast<Real *>(team_scratch(team, bytes)) : nullptr;
}

}  // namespace detail

template <int rows, class Real> void gram_value(const GramShape &s, const Real *t, Real *d)
{
  const detail::GramSizes n = detail::sizes<rows>(s);
  launch(
      "dptrain::gram_value", one_team_each(s.centers), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        detail::product<rows, false>(team, s, t + i * n.t, t + i * n.t, d + i * n.d);
      });
}

template <int rows, class Real>
void gram_jvp(const GramShape &s, const Real *t, const Real *t_dot, Real *d_dot)
{
  const detail::GramSizes n = detail::sizes<rows>(s);
  launch(
      "dptrain::gram_jvp", one_team_each(s.centers), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        detail::product<rows, false>(team, s, t_dot + i * n.t, t + i * n.t, d_dot + i * n.d);
        detail::product<rows, true>(team, s, t + i * n.t, t_dot + i * n.t, d_dot + i * n.d);
      });
}

template <int rows, class Real>
void gram_reverse(const GramShape &s, const Real *t, const Real *g_d, Real *g_t)
{
  const detail::GramSizes n = detail::sizes<rows>(s);
  const std::size_t bytes = detail::copy_bytes<Real>(s);
  launch(
      "dptrain::gram_reverse", one_team_each(s.centers, bytes), KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        Real *copy = detail::copy_memory<Real>(team, bytes);
        detail::transpose<rows, false>(team, s, g_d + i * n.d, t + i * n.t, g_t + i * n.t, copy);
      });
}

template <int rows, class Real>
void gram_jvp_reverse(const GramShape &s, const Real *t, const Real *t_dot, const Real *g_d,
                      const Real *e_d, Real *g_t)
{
  const detail::GramSizes n = detail::sizes<rows>(s);
  const std::size_t bytes = detail::copy_bytes<Real>(s);
  launch(
      "dptrain::gram_jvp_reverse", one_team_each(s.centers, bytes),
      KOKKOS_LAMBDA(const Team &team) {
        const long i = team.league_rank();
        Real *copy = detail::copy_memory<Real>(team, bytes);
        detail::transpose<rows, false>(team, s, g_d + i * n.d, t + i * n.t, g_t + i * n.t, copy);
        detail::transpose<rows, true>(team, s, e_d + i * n.d, t_dot + i * n.t, g_t + i * n.t, copy);
      });
}

}  // namespace dptrain::kernels
