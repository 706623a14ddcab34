#pragma once

#include "kernels/chebyshev_basis.h"
#include "kernels/moments.h"

namespace dptrain::kernels {

/// Moments of the neighbors in Chebyshev functions: those of degree 0 of all neighbors, `radial`, and those up to a degree of the closer
/// ones, `angular` (Moments::used is 1 of 2 parts there), with functions and cutoffs of their own.
template <class Real> struct NepMoments {
  using Part = Moments<Real, ChebyshevBasis<Real>>;
  Part radial, angular;
};

template <class Real>
void moments_value(const Moments<Real, ChebyshevBasis<Real>> &m, Real *moments);
template <class Real>
void moments_jvp(const Moments<Real, ChebyshevBasis<Real>> &m, const double *r,
                 const double *strain, Real *moments_dot);
/// Forces and virials from dE/dmoments of both.
template <class Real>
void moments_reverse(const NepMoments<Real> &m, const Real *g_radial, const Real *g_angular,
                     const ForceSums &sums);

}  // namespace dptrain::kernels
