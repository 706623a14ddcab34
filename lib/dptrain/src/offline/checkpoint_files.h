#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "dptrain/config.h"

namespace dptrain {

/// Names of the checkpoints of a training, as DeePMD-kit gives them: PREFIX-STEP.dp, of which the last ones stay,
/// a link PREFIX.dp to the newest, and a file `checkpoint` that names it. Used on rank 0.
class CheckpointFiles {
 public:
  /// keep: how many stay; 0: all.
  CheckpointFiles(const OfflineConfig &config, int keep);

  /// Counts the checkpoints that are there, up to that of step `last`, among those to be removed in time.
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
