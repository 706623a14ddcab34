#pragma once

namespace dptrain::kernels {

/// Edges of one chunk of centre atoms, grouped by centre and then by neighbour type. Structure of arrays, plain pointers.
/// The empty slots of a type are one edge: neighbor -1, zero vector, row (multiplicity * p, 0, 0, 0) with p the argument of
/// a padded slot. It goes through table and contraction like any other edge and has no derivative.
struct Edges {
  int num_centers = 0;
  int num_edges = 0;
  const int *centers = nullptr;   ///< [num_centers] atom index
  const int *first = nullptr;     ///< [num_centers + 1] offsets
  const int *neighbor = nullptr;  ///< [num_edges] atom index or -1
  const int *net = nullptr;       ///< [num_edges] embedding net
  double *d[3] = {};              ///< [num_edges] r_j - r_i, Angstrom
  double *row[4] = {};            ///< [num_edges] normalised environment row
  double *arg = nullptr;          ///< [num_edges] argument of the embedding net
  double *inv_r = nullptr;        ///< 1/r
  double *darg = nullptr;         ///< d arg / dr
  double *q = nullptr;            ///< row[1..3] = q * d
  double *dq = nullptr;           ///< dq / dr
};

}  // namespace dptrain::kernels
