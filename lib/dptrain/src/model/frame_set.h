#pragma once

#include <vector>

#include "dptrain/frame.h"
#include "kernels/memory.h"

namespace dptrain {

/// The domains of one call side by side: atoms of all frames in flat arrays that kernels can read, and the centres of each
/// type, so that atoms of several frames share one block of matrix products.
class FrameSet {
 public:
  /// A centre: its place in the flat arrays, frame and neighbour list.
  struct Centre {
    int atom, frame;
    const int *row;
    int row_size;
  };

  /// Takes over positions, types and centres. skip[type] != 0: types without energy. The domains must live until the
  /// last use. Throws Error if the position of a centre is not finite.
  void set(const Domain *domains, int n, const std::vector<char> &skip);

  int size() const { return static_cast<int>(offsets_.size()) - 1; }
  int num_atoms() const { return offsets_.back(); }
  int offset(int frame) const { return offsets_[frame]; }
  int mask() const { return mask_; }
  const double *x() const { return x_; }
  const int *type() const { return type_; }
  const std::vector<Centre> &centres(int type) const { return centres_[type]; }
  std::size_t memory_bytes() const;

 private:
  void set_flat(const Domain *domains, int n);

  std::vector<int> offsets_{0};
  std::vector<std::vector<Centre>> centres_;
  int mask_ = 0;
  std::vector<double> host_x_;
  std::vector<int> host_type_;
  kernels::Array<double> own_x_;
  kernels::Array<int> own_type_;
  const double *x_ = nullptr;
  const int *type_ = nullptr;
};

}  // namespace dptrain
