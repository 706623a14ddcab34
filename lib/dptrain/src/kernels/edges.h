#pragma once

namespace dptrain::kernels {

/// Edges of one chunk of center atoms of one type: those with r < rcut. Each center has its own range of slots, of which
/// the first count[i] are in use. Only the neighbor and the distance vector are stored; all that follows from them is
/// computed again where it is needed.
template <class Real> struct Edges {
  int num_centers = 0;
  int max_count = 0;  ///< upper bound of count
  int ntypes = 0;
  const int *centers = nullptr;  ///< [num_centers] atom index
  const int *frame = nullptr;    ///< [num_centers] index of the frame that the center belongs to
  const int *first = nullptr;    ///< [num_centers] first slot
  int *count = nullptr;          ///< [num_centers]
  int *neighbor = nullptr;       ///< [slots] atom index
  int *type = nullptr;           ///< [slots] of the neighbor
  Real *d[3] = {};               ///< [slots] r_j - r_i, Angstrom
  /// [num_centers][ntypes] places for neighbors that are not in use; null where their number has no limit.
  Real *empty = nullptr;
};

}  // namespace dptrain::kernels
