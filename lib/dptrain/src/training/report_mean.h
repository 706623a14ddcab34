#pragma once

#include <vector>

#include "dptrain/training/trainer.h"

namespace dptrain {

/// Weighted means of the errors of several batches, each over those batches that have it; of the loss, the mean of its
/// root is taken, as DeePMD-kit does for what it prints.
class ReportMean {
 public:
  void add(const UpdateReport &report, double weight);
  /// Step and learning rate are those of the last report.
  UpdateReport mean() const;
  bool empty() const { return !any_; }
  /// For a checkpoint; empty if nothing was added.
  std::vector<double> state() const;
  /// False, and nothing changes, if the numbers are not those of state().
  bool set_state(const std::vector<double> &state);

 private:
  bool any_ = false;
  UpdateReport sums_, weights_;
};

}  // namespace dptrain
