#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>

#include "base/elapsed.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// The optimizer steps that labels have earned, which are done in slices of time. Collective; rank 0 has the clock.
class StepBudget {
 public:
  StepBudget(std::shared_ptr<const Communicator> comm, std::int64_t steps_of_label) :
      comm_(std::move(comm)), steps_of_label_(steps_of_label)
  {
  }

  /// So many labels have come before this program, or before there was a model.
  void earn(std::int64_t labels) { owed_ += steps_of_label_ * labels; }
  void add_label()
  {
    earn(1);
    has_unseen_ = true;
  }
  std::int64_t owed() const { return owed_; }
  /// Whether a label has come since the latest slice began.
  bool has_unseen() const { return has_unseen_; }

  void begin_slice(double seconds)
  {
    start_ = std::chrono::steady_clock::now();
    slice_seconds_ = seconds;
    has_unseen_ = false;
  }
  /// Whether the slice has another step.
  bool has_next() const { return owed_ > 0 && !is_over(); }
  /// A step that throws is not done.
  void step_done() { --owed_; }

  /// From a checkpoint.
  void restore(std::int64_t owed) { owed_ = owed; }

 private:
  bool is_over() const
  {
    if (!std::isfinite(slice_seconds_)) return false;
    bool over = seconds_since(start_) >= slice_seconds_;
    comm_->broadcast(&over, sizeof(over), 0);
    return over;
  }

  std::shared_ptr<const Communicator> comm_;
  std::int64_t steps_of_label_;
  std::int64_t owed_ = 0;
  bool has_unseen_ = false;
  std::chrono::steady_clock::time_point start_;  // of the slice
  double slice_seconds_ = 0.0;
};

}  // namespace dptrain
