#pragma once

#include <cstdint>
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
  /// Becomes a copy of `other`.
  void copy_from(const EdgeChunk &other);
  const kernels::Edges<Real> &edges() const { return edges_; }
  /// Slots of all centers, used or not.
  int num_slots() const { return num_slots_; }
  std::size_t memory_bytes() const;
  /// Of a copy.
  std::size_t copy_bytes() const { return memory_.size() * sizeof(std::int64_t); }

 private:
  int number_centers(const FrameSet &frames, int type, int begin, int n, int capacity);
  void copy_centers(bool search);
  void lay_out();

  kernels::Edges<Real> edges_;
  int num_slots_ = 0;
  bool has_limits_ = false;
  std::vector<int> host_;  // centers, frame, first, row_size, offset
  // what is in the memory of the kernels, but for row_size, which a search finds there; empty: it is not known
  std::vector<int> copied_;
  std::vector<const int *> host_rows_;
  kernels::Array<std::int64_t> memory_;  // all arrays of the edges
  int *centers_ = nullptr;               // there, as in host_
  kernels::Array<const int *> rows_;     // lists of the host
  NeighborSearch::Lists lists_;          // or those that were searched
};

}  // namespace dptrain
