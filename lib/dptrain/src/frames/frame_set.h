#pragma once

#include <vector>

#include "dptrain/frames/frame.h"
#include "kernels/memory.h"
#include "neighbor/engine_lists.h"
#include "neighbor/neighbor_search.h"

namespace dptrain {

/// The domains of one call side by side: atoms of all frames in flat arrays that kernels can read, and the centers of each
/// type, so that atoms of several frames share one block of matrix products.
class FrameSet {
 public:
  /// A center: its place in the flat arrays, frame and neighbor list (none where lists are searched).
  struct Center {
    int atom, frame;
    const int *row;
    int row_size;
  };

  /// Takes over positions, types and centers. skip[type] != 0: types without energy. The neighbor rows must live until the
  /// last use, and without `copy` all other arrays of the domains too. With search_rcut > 0 (Angstrom) the algorithms of a device
  /// are taken: arrays that lie in the memory of the kernels are used where they are, else neighbors are found from the
  /// positions, and the lists of the domains are not looked at. Throws Error if, with a search, the position of an atom is
  /// not finite.
  void set(const Domain *domains, int n, const std::vector<char> &skip, bool copy,
           double search_rcut = 0.0);

  int size() const { return static_cast<int>(offsets_.size()) - 1; }
  int num_atoms() const { return offsets_.back(); }
  int num_atoms(int frame) const { return offsets_[frame + 1] - offsets_[frame]; }
  int offset(int frame) const { return offsets_[frame]; }
  /// Where lists are found; null: they are those of the domains.
  const NeighborSearch *search() const { return way_ == Way::search ? &search_ : nullptr; }
  /// Centers and lists in the memory of the kernels; null: the host has them.
  const EngineLists *engine_lists() const
  {
    return way_ == Way::engine_lists ? &engine_lists_ : nullptr;
  }
  int mask() const { return mask_; }
  /// Of the lists of all centers, or what the engine says of its own.
  int largest_row() const { return largest_row_; }
  const double *x() const { return x_; }
  const int *type() const { return type_; }
  int num_centers(int type) const
  {
    return engine_lists() ? engine_lists_.num_centers(type)
                          : static_cast<int>(centers_[type].size());
  }
  /// Where the host has them.
  const std::vector<Center> &centers(int type) const { return centers_[type]; }
  std::size_t memory_bytes() const;

 private:
  void set_engine_lists(const Domain &domain, const std::vector<char> &skip);
  void set_flat(const Domain *domains, int n, bool copy);

  std::vector<int> offsets_{0};
  std::vector<std::vector<Center>> centers_;
  int mask_ = 0, largest_row_ = 0;
  std::vector<double> host_x_;
  std::vector<int> host_type_;
  kernels::Array<double> own_x_;
  kernels::Mirror<int> own_type_;
  enum class Way { host_lists, search, engine_lists };
  Way way_ = Way::host_lists;
  EngineLists engine_lists_;
  NeighborSearch search_;
  const double *x_ = nullptr;
  const int *type_ = nullptr;
};

}  // namespace dptrain
