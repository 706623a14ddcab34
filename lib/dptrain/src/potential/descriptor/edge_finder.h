#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "frames/frame_set.h"
#include "kernels/memory.h"
#include "neighbor/gather.h"
#include "potential/descriptor/edge_chunk.h"

namespace dptrain {

/// Which neighbors of a center become edges.
struct EdgeLimits {
  double rcut = 0.0;         ///< Angstrom
  std::vector<int> sel{};    ///< most neighbors of each type, as DeePMD-kit keeps them; empty: all
  int usual_neighbors = 64;  ///< of a center, where sel says nothing: memory to begin with
  /// Pairs of types without edges. Where there is a sel, dropped ones take its places, hidden ones do not.
  std::vector<std::array<int, 2>> dropped{}, hidden{};
};

/// Finds the edges of chunks, and what a sweep over them tells of the neighbors.
class EdgeFinder {
 public:
  EdgeFinder(int ntypes, EdgeLimits limits);

  double rcut() const { return limits_.rcut; }
  /// Whether all neighbors within other limits, which are without sel and exclusions, are among those that it finds.
  bool finds(const EdgeLimits &all_within) const;
  /// Slots of a center, as far as is known before there are atoms.
  int expected_slots() const { return capacity_; }
  /// Slots that a center of these frames may have.
  int most_slots(const FrameSet &frames) const;

  void begin_sweep();
  /// Edges of `n` centers of a type, from number `begin` on.
  template <class Real>
  void find(const FrameSet &frames, int type, int begin, int n, EdgeChunk<Real> &chunk)
  {
    chunk.gather(frames, rules_[type], static_cast<int>(rules_.size()), type, begin, n, capacity_,
                 reports_);
  }
  struct Report {
    double smallest_distance;  ///< Angstrom; infinite without neighbors
    std::int64_t overflow;     ///< centers with more neighbors than sel keeps
  };
  /// Nothing where neighbors were missed, as there were more than expected: then the sweep has to be done again. Throws
  /// Error if two atoms are at the same place.
  std::optional<Report> end_sweep(const FrameSet &frames);

 private:
  EdgeLimits limits_;
  std::vector<ChunkRules> rules_;  // by center type
  kernels::Array<int> sel_;
  kernels::Array<char> excluded_;         // dropped, then hidden, [type][type] each
  int capacity_ = 0;                      // of a searched neighbor list
  kernels::Array<GatherReport> reports_;  // by worker
  std::vector<GatherReport> host_reports_;
};

}  // namespace dptrain
