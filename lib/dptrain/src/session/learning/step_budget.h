#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>

#include "base/elapsed.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/session/learning_options.h"

namespace dptrain {

/// The optimizer steps that labels have earned. They are done in slices of time, and end early where the force errors of the latest
/// frame and of the batches have reached the target, or the time of the labels is over. Collective; rank 0 has the clock.
class StepBudget {
 public:
  StepBudget(std::shared_ptr<const Communicator> comm, const TrainingOptions &options) :
      comm_(std::move(comm)), options_(options)
  {
  }

  /// So many labels have come before this program, or before there was a model.
  void earn(std::int64_t labels) { owed_ += options_.steps * labels; }
  void add_label()
  {
    earn(1);
    ++labels_;
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
  bool has_next() const { return owed_ > 0 && !is_over(0.0, slice_seconds_); }
  /// A step that throws is not done.
  void step_done() { --owed_; }
  /// After a step, whose batch had this root mean square error of the forces: ends the training where it is good enough.
  template <class Work> void watch(double batch_error, const Work &latest_error)
  {
    constexpr std::int64_t watch_every = 10;  // steps between two looks
    constexpr double memory = 0.95;           // of the mean over the batches
    const double square = batch_error * batch_error;
    double &mean = buffer_error_;
    if (std::isfinite(square)) mean = mean > 0.0 ? memory * mean + (1.0 - memory) * square : square;
    if (owed_ % watch_every != 0) return;
    const double most = options_.seconds * std::max(labels_, 1);
    if (options_.seconds > 0.0 && is_over(spent_, most)) owed_ = 0;
    if (options_.target <= 0.0 || std::sqrt(mean) > options_.target) return;
    if (latest_error() <= options_.target) owed_ = 0;
  }
  void end_slice()
  {
    spent_ = owed_ > 0 ? spent_ + seconds_since(start_) : 0.0;
    if (owed_ == 0) labels_ = 0;
  }

  /// Mean square force error of the latest batches, for checkpoints.
  double buffer_error() const { return buffer_error_; }
  void restore(std::int64_t owed, double buffer_error)
  {
    owed_ = owed;
    buffer_error_ = buffer_error;
  }

 private:
  bool is_over(double before, double limit) const
  {
    if (!std::isfinite(limit)) return false;
    bool over = before + seconds_since(start_) >= limit;
    comm_->broadcast(&over, sizeof(over), 0);
    return over;
  }

  std::shared_ptr<const Communicator> comm_;
  const TrainingOptions &options_;
  std::int64_t owed_ = 0;
  int labels_ = 0;  // that have earned them
  bool has_unseen_ = false;
  std::chrono::steady_clock::time_point start_;  // of the slice
  double slice_seconds_ = 0.0;
  double spent_ = 0.0;  // seconds of the slices before, since no steps were owed
  double buffer_error_ = 0.0;
};

}  // namespace dptrain
