#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/batch_plan.h"
#include "data/frame_pool.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/pair_distances.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// This rank's shares of the frames of a data set, made as they are asked for and kept in a FramePool. Those that a rank has
/// no room for, on its disk either or because what stays of them in memory would be more than a quarter of the budget, are
/// read again: a data set may be larger than the memory. Collective.
class FrameCache {
 public:
  /// `ntypes` is that of the model, rcut in Angstrom; budget in bytes on each rank. Frames with atoms closer to each other
  /// than min_pair_dist (Angstrom) are left out. total: charge in e that frames must have, unless they do not tell.
  /// has_charges: of the model, frames need a cell then.
  FrameCache(std::shared_ptr<const Communicator> comm, Systems systems, Distributor distributor,
             double rcut, int ntypes, std::size_t budget, double min_pair_dist = 0.0,
             std::optional<double> total = std::nullopt, bool has_charges = false);

  /// The frames without those left out, valid until the next call. Throws Error on all ranks if one cannot be read or
  /// trained on.
  std::vector<const Frame *> load(const std::vector<FrameId> &ids);

  /// Lets the system read what will be asked for next.
  void prefetch(const std::vector<FrameId> &ids) const;

  /// How the frames are divided, where that was a choice, once (see Distributor).
  std::string take_reason() { return distributor_.take_reason(); }

  /// How close atoms came in all frames that were given so far.
  const PairDistances &closest() const { return closest_; }
  /// Of a share on this rank, the mean of all that were read.
  double bytes_of_a_frame() const { return bytes_read_ / std::max(reads_, 1.0); }
  /// Why frames could not wait on this rank's scratch disk; empty if they could.
  const std::string &scratch_trouble() const { return pool_.scratch_trouble(); }
  /// What this rank holds, by purpose.
  MemoryLedger memory() const { return pool_.memory(); }

 private:
  void read(const FrameId &id, std::int64_t number);

  std::shared_ptr<const Communicator> comm_;
  Distributor distributor_;
  Systems systems_;
  double rcut_, min_pair_dist_, bytes_read_ = 0.0, reads_ = 0.0;
  int ntypes_;
  std::optional<double> total_;
  bool has_charges_;
  PairDistances closest_;
  FramePool pool_;
  std::unordered_map<std::int64_t, double> distances_;  // the shortest of each frame in the pool
  std::vector<std::int64_t> in_use_, passing_;          // of them those of the batch; not kept
};

}  // namespace dptrain
