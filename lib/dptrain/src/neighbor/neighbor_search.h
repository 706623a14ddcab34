#pragma once

#include <memory>
#include <vector>

#include "kernels/memory.h"
#include "neighbor/gather.h"

namespace dptrain {

/// Neighbor lists made by kernels from positions alone, so that an engine's lists need not go to a device. Atoms are
/// sorted by cell; lists are in the order of cells, then of atoms, the same in every run.
class NeighborSearch {
 public:
  NeighborSearch();
  NeighborSearch(NeighborSearch &&) noexcept;
  NeighborSearch &operator=(NeighborSearch &&) noexcept;
  ~NeighborSearch();

  /// Sorts the atoms of several frames, whose positions and types stand one after the other. host_x [atoms][3] and
  /// offsets [frames + 1] are read on the host, x and type (of equal content) by kernels until the last use; atoms of
  /// type -1 are not listed as neighbors. Throws Error if a coordinate is not finite.
  void set(const double *host_x, const std::vector<int> &offsets, const double *x, const int *type,
           double rcut);

  /// Lists of neighbors, and where each begins.
  struct Lists {
    kernels::Array<int> entries;
    kernels::Array<const int *> begin;
    std::size_t memory_bytes() const { return entries.memory_bytes() + begin.memory_bytes(); }
  };
  /// Lists of the atoms within rcut, at most that of set(), of `n` centers (atoms and their frames, memory of the kernels), at
  /// most `capacity` of each are kept. Sets row, max_size and mask of `rows`, and the numbers found, kept or not, in row_size [n].
  void find(const int *centers, const int *frames, int n, double rcut, int capacity, Lists &lists,
            ChunkRows &rows, int *row_size) const;

  std::size_t memory_bytes() const;

 private:
  struct Grids;
  const double *x_ = nullptr;
  std::unique_ptr<Grids> grids_;
  kernels::Mirror<int> offsets_;       // [frames + 1]
  kernels::Array<int> cell_;           // [atoms] -1: not in the model
  kernels::Array<int> start_, order_;  // [cells + 1]; atoms by cell
};

}  // namespace dptrain
