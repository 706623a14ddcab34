#pragma once

#include <vector>

#include "dptrain/potential/descriptor/nep_config.h"

namespace dptrain {

/// factor * A_i A_j A_k of the coefficients of a channel, by the numbers of their harmonics (kernels/harmonics.h), as a part of block
/// `block` of the descriptor.
struct NepProduct {
  int block, i, j, k;
  double factor;
};

/// The products of more than two coefficients of a NEP: for degrees l1 l2 l3 the invariant
///   sum over m1 + m2 + m3 = 0 of the Wigner 3j symbol (l1 l2 l3; m1 m2 m3) A_l1m1 A_l2m2 A_l3m3
/// in orthonormal spherical harmonics (Condon-Shortley phase).
struct NepProducts {
  std::vector<NepProduct> three_fold;
  int quartic_block =
      -1;  ///< of nep_quartic times the square of the sum of squares of degree 1; -1: there is none
};
NepProducts nep_products(const NepConfig &config);
constexpr double nep_quartic = 7.0 / 15.0;

/// (l1 l2 l3; m1 m2 m3) by Racah's formula.
double wigner_3j(int l1, int l2, int l3, int m1, int m2, int m3);

}  // namespace dptrain
