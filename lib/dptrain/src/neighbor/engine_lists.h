#pragma once

#include <cstddef>
#include <vector>

#include "kernels/memory.h"

namespace dptrain {

/// Centers and neighbor lists of one domain that the engine holds in the memory of the kernels: used where they are. The
/// host learns how many centers there are of each type.
class EngineLists {
 public:
  struct Arrays {
    const int *centers = nullptr;  ///< [num_centers] atoms
    int num_centers = 0;
    const int *type = nullptr;           ///< [atoms] -1: not in the model
    const int *num_neighbors = nullptr;  ///< by atom
    const int *table = nullptr;          ///< entry k of atom i: [i * row_stride + k * entry_stride]
    std::ptrdiff_t row_stride = 0, entry_stride = 1;
  };

  /// Sorts the centers by type, in each type as they were. skip[type] != 0: types without energy. The arrays must live until
  /// the last use.
  void set(const Arrays &arrays, const std::vector<char> &skip);
  int num_centers(int type) const { return begin_[type + 1] - begin_[type]; }
  /// Memory of the kernels.
  const int *centers(int type) const { return order_.data() + begin_[type]; }
  std::ptrdiff_t entry_stride() const { return arrays_.entry_stride; }

  /// What a chunk of `n` centers of a type, from number `begin` on, needs to know of each: atom, frame (0), first of
  /// `slots` slots, size of its list, first atom of its frame (0): numbers [5][n]; and its list: rows [n].
  void rows(int type, int begin, int n, int slots, int *numbers, const int **rows) const;
  std::size_t memory_bytes() const;

 private:
  Arrays arrays_;
  std::vector<int> begin_;          // [ntypes + 1]
  kernels::Array<int> begin_copy_;  // the same, where it is counted
  kernels::Array<int> order_;       // [num_centers]
};

}  // namespace dptrain
