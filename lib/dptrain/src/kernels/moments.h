#pragma once

#include "kernels/edges.h"
#include "kernels/force_sums.h"
#include "kernels/radial_basis.h"

namespace dptrain::kernels {

/// The moments of the neighbors of the centers of a chunk:
///   M_tk,lm(i) = sum over neighbors j of type t of b_k(r_ij) Y_lm(u_ij),
/// b_k of RadialBasis, Y_lm of harmonics.h, u_ij = (r_j - r_i) / r_ij. They depend on no parameter.
///
/// Arrays of moments are [ntypes * basis.size][num_centers][num_harmonics(l_max)].
template <class Real, class Basis = RadialBasis<Real>> struct Moments {
  /// The edges of a center stand in the order of their types, see sort_edges.
  Edges<Real> edges;
  /// [num_centers][ntypes * parts + 1] first edge of each part of each type, from the first of the center
  const int *runs = nullptr;
  int parts = 1, used = 1;  ///< of a type, and how many of them count
  Basis basis;
  /// [ntypes] Angstrom: neighbors of a type that are closer are taken for such that stand about there, see SeenDistance; null: none
  /// are.
  const Real *near = nullptr;
  int l_max = 0;
};

/// Puts the edges of each center into the order of their types, otherwise in the order that they have, and fills runs as in
/// Moments.
template <class Real> void sort_edges(const Edges<Real> &edges, int *runs);
/// The same in two parts for each type: those that are closer than a distance, near_squared [ntypes] Angstrom^2, and the others.
template <class Real>
void sort_edges(const Edges<Real> &edges, const Real *near_squared, int *runs);

template <class Real> void moments_value(const Moments<Real> &m, Real *moments);

/// Forces and virials from g = dE/dmoments: F_i += dE/dd, F_j -= dE/dd, W -= dE/dd (x) d, d = r_j - r_i.
template <class Real>
void moments_reverse(const Moments<Real> &m, const Real *g, const ForceSums &sums);

/// The tangent along r [atoms][3] (or null) and the strains C [frames][9]: of edges it is r_j - r_i + C d.
template <class Real>
void moments_jvp(const Moments<Real> &m, const double *r, const double *strain, Real *moments_dot);

}  // namespace dptrain::kernels
