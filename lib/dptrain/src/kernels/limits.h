#pragma once

namespace dptrain::kernels {

/// What kernels are compiled for.
constexpr int most_l = 6;           ///< degree of spherical harmonics
constexpr int most_nep_l = 8;       ///< the same of a NEP
constexpr int most_functions = 32;  ///< of a radial basis: a lane keeps them for itself

}  // namespace dptrain::kernels
