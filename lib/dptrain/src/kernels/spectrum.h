#pragma once

namespace dptrain::kernels {

// The power spectrum of the expansion coefficients of each center, A [channels][centers][harmonics], and its first coefficients
// themselves:
//   D = (A_00n, p_lqn),  p_lqn = sum_m A_lmq A_lmn,  l <= l_max, q < axis, n < channels,
// [centers][size], l slowest.

struct SpectrumShape {
  int centers, l_max, channels, axis;
  int size() const { return channels * (1 + (l_max + 1) * axis); }
};

template <class Real> void spectrum_value(const SpectrumShape &shape, const Real *a, Real *d);
/// Tangent of D along a_dot.
template <class Real>
void spectrum_jvp(const SpectrumShape &shape, const Real *a, const Real *a_dot, Real *d_dot);
/// g_a = dE/dA from g_d = dE/dD.
template <class Real>
void spectrum_reverse(const SpectrumShape &shape, const Real *a, const Real *g_d, Real *g_a);
/// Of S = c E - E_dot: s_a = dS/dA from s_d = dS/dD and e_d = dE/dD = -dS/dD_dot.
template <class Real>
void spectrum_jvp_reverse(const SpectrumShape &shape, const Real *a, const Real *a_dot,
                          const Real *s_d, const Real *e_d, Real *s_a);

}  // namespace dptrain::kernels
