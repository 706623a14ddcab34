#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Seconds of one training step by a simple model: work of the kernels, messages, and numbers in them.
struct StepEstimate {
  double space = 0.0;   ///< every frame divided over all ranks
  double frames = 0.0;  ///< every frame on one rank
};

/// The estimate for batches of `batch` frames like one of `natoms` atoms in `volume` (Angstrom^3) on so many ranks.
/// `parameters` is the number of weights that the energy of an atom goes through. The constants are those of a core of
/// 2023 and of messages within a node; see bench/README.md, part `ranks`.
StepEstimate estimate_step(std::int64_t natoms, double volume, double rcut, std::int64_t parameters,
                           int batch, int ranks);

/// Frames of a batch that are in work at once.
inline int frames_at_once(int batch, const ParallelConfig &parallel)
{
  return parallel.micro_batch > 0 ? std::min(batch, parallel.micro_batch) : batch;
}

/// How frames of a model are divided where `asked` is what was asked for: those of a model whose atoms pass messages only as
/// a whole. Throws Error where that is not possible.
Distribution possible_distribution(Distribution asked, bool passes_messages);

/// Divides labeled frames over the ranks, in one of two ways that give the same gradient: by space, each rank a part of
/// each frame; or by frames, a copy of each frame on every rank, one of which works on it (see working_ranks). Left to
/// choose, it takes for each frame what the estimate says is faster.
class Distributor {
 public:
  /// `batch`: frames that are in work at once. `parameters`: as in estimate_step.
  Distributor(std::shared_ptr<const Communicator> comm, Distribution distribution, int batch,
              std::int64_t parameters);

  /// This rank's share of a frame that all ranks have. Collective.
  Frame share(const WholeFrame &whole, double rcut);
  /// What was chosen and why, as a line for the log, once after each change of mind; else empty.
  std::string take_reason() { return std::exchange(reason_, {}); }

 private:
  bool by_frames(const WholeFrame &whole, double rcut);

  std::shared_ptr<const Communicator> comm_;
  Distribution distribution_;
  int batch_;
  std::int64_t parameters_;
  std::optional<bool> chose_frames_;
  std::string reason_;
};

/// The rank that works on each frame of a batch: -1 where all do. Frames of which every rank has a copy go, the largest
/// first, to the rank that has the fewest atoms by then; `turn` says with which rank it begins among equals.
std::vector<int> working_ranks(const std::vector<const Frame *> &frames, int ranks,
                               std::int64_t turn = 0);

/// Frames of a batch as this rank has to see them: those that another rank works on have no atoms here.
class BatchShares {
 public:
  BatchShares(const std::vector<const Frame *> &frames, const Communicator &comm,
              std::int64_t turn = 0);
  BatchShares(const BatchShares &) = delete;
  BatchShares &operator=(const BatchShares &) = delete;
  const std::vector<const Frame *> &frames() const { return shares_; }

 private:
  std::vector<const Frame *> shares_;
  std::vector<Frame> elsewhere_;
};

}  // namespace dptrain
