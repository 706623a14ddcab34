#pragma once

namespace dptrain::kernels {

/// A product of three coefficients of one channel: factor * A_i A_j A_k, a part of number `block` of the channel; i, j, k are numbers of
/// harmonics.
template <class Real> struct ThreeFold {
  int block, i, j, k;
  Real factor;
};

/// What a NEP makes of the expansion coefficients of each center (Z. Fan et al., J. Chem. Phys. 157, 114801 (2022)), in harmonics as
/// those of harmonics.h: from the radial ones A_n, and from the angular ones A_nlm, l <= l_max,
///   D = scale * (A_n, q_nl, products),   q_nl = (2 l + 1) / (4 pi) sum_m A_nlm^2  for l > 0,
/// and products of three coefficients of a channel n, which are sums of ThreeFold, or `quartic` q_n1^2.
/// Coefficients are [channels][centers] and [channels][centers][harmonics], D is [centers][size], numbers of the angular channels
/// in blocks of these.
template <class Real> struct NepShape {
  int centers = 0, radial = 0, angular = 0;  ///< channels
  int l_max = 0, blocks = 0;
  int quartic_block = -1;  ///< -1: there is none
  Real quartic = 0;
  const ThreeFold<Real> *products = nullptr;  ///< memory of the kernels
  int num_products = 0;
  const Real *scale = nullptr;  ///< [size] memory of the kernels

  int size() const { return radial + blocks * angular; }
};

template <class Real>
void nep_value(const NepShape<Real> &shape, const Real *radial, const Real *angular, Real *d);
/// Tangent of D along those of the coefficients.
template <class Real>
void nep_jvp(const NepShape<Real> &shape, const Real *angular, const Real *radial_dot,
             const Real *angular_dot, Real *d_dot);
/// dE/dA from g_d = dE/dD.
template <class Real>
void nep_reverse(const NepShape<Real> &shape, const Real *angular, const Real *g_d, Real *g_radial,
                 Real *g_angular);
/// Of S = c E - E_dot: dS/dA from s_d = dS/dD and e_d = dE/dD = -dS/dD_dot.
template <class Real>
void nep_jvp_reverse(const NepShape<Real> &shape, const Real *angular, const Real *angular_dot,
                     const Real *s_d, const Real *e_d, Real *s_radial, Real *s_angular);

}  // namespace dptrain::kernels
