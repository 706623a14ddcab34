#pragma once

#include <vector>

#include "frames/frame_set.h"
#include "kernels/edges.h"
#include "kernels/memory.h"
#include "neighbor/gather.h"

namespace dptrain {

/// Memory of the edges of one chunk of centers.
template <class Real> class EdgeChunk {
 public:
  /// Finds the edges of `n` centers of a type, from number `begin` on. The reports, one per worker, are added to. Where
  /// neighbors are searched, at most `capacity` of each center are looked at.
  void gather(const FrameSet &frames, const ChunkRules &rules, int ntypes, int type, int begin,
              int n, int capacity, kernels::Array<GatherReport> &reports);
  const kernels::Edges<Real> &edges() const { return edges_; }
  /// Slots of all centers, used or not.
  int num_slots() const { return num_slots_; }
  std::size_t memory_bytes() const;

 private:
  int number_centers(const FrameSet &frames, int type, int begin, int n, int capacity);

  kernels::Edges<Real> edges_;
  int num_slots_ = 0;
  std::vector<int> host_;  // centers, frame, first, row_size, offset
  std::vector<const int *> host_rows_;
  kernels::Array<int> centers_, count_, neighbor_, type_;
  kernels::Array<const int *> rows_;
  kernels::Array<Real> d_, empty_;
};

}  // namespace dptrain
