#pragma once

#include <vector>

namespace dptrain {

/// Neighbor rows in compressed form: those of atom i are neighbor[first[i]] ... neighbor[first[i + 1] - 1].
struct NeighborRows {
  std::vector<int> first;  ///< [nlocal + 1]
  std::vector<int> neighbor;
};

/// All atoms within rcut (Angstrom, boundary included) of the first nlocal atoms, among all nall atoms of x[nall][3],
/// the atom itself left out; each pair of owned atoms stands in both rows; rows are ascending. Cost is linear in the number of atoms: atoms
/// are binned into cells not smaller than rcut. Periodicity is the caller's: images are atoms of their own.
/// Throws Error if rcut is not positive, a coordinate is not finite, or the pairs are more than int can count.
NeighborRows build_neighbor_rows(const double *x, int nlocal, int nall, double rcut);

}  // namespace dptrain
