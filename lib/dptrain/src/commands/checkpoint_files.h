#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>

#include "dptrain/input/config.h"

namespace dptrain {

/// Names of the checkpoints of a training, as DeePMD-kit gives them: PREFIX-STEP.dp, of which the last ones stay,
/// a link PREFIX.dp to the newest, and a file `checkpoint` that names it. Used on rank 0.
class CheckpointFiles {
 public:
  /// keep: how many stay; 0: all.
  CheckpointFiles(const OfflineConfig &config, int keep);

  /// Steps of the checkpoints that an earlier training has left under this name.
  std::set<std::int64_t> left() const;
  /// Counts those up to step `last` among the ones to be removed in time.
  void take_over(std::int64_t last);

  std::string path(std::int64_t step) const;
  /// The link to the newest one.
  std::string newest() const { return prefix_ + ".dp"; }
  /// After the checkpoint of a step was written: link, file `checkpoint`, and removal of the oldest.
  void wrote(std::int64_t step);

 private:
  std::string prefix_;
  std::size_t keep_;
  std::deque<std::string> written_;
};

}  // namespace dptrain
