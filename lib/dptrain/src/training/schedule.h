#pragma once

#include <cstdint>

#include "dptrain/input/config.h"

namespace dptrain {

/// DeePMD-kit's learning rate as a function of the step (3.2, dpmodel/utils/learning_rate.py): a linear warm-up, then
/// exponential decay in stairs or smooth, or half a cosine, or a constant rate with a decay at the end (wsd). Beyond
/// numb_steps it stays at stop_lr.
class Schedule {
 public:
  /// Throws Error that names the key of `learning_rate` that is wrong.
  Schedule(const ScheduleConfig &config, std::int64_t numb_steps);

  /// Learning rate of a step; step = optimizer steps done before it.
  double rate(std::int64_t step) const;
  double start_rate() const { return config_.start_lr; }
  /// Whether it is the same at all steps after the warm-up.
  bool stays_constant() const { return stop_ == config_.start_lr; }

 private:
  double decayed(std::int64_t step) const;
  double exponential(std::int64_t step) const;
  double stable_then_decayed(std::int64_t step) const;

  ScheduleConfig config_;
  std::int64_t warmup_ = 0, length_ = 0;  // steps of the two phases
  std::int64_t stair_ = 1;                // DeePMD's decay_steps, made to fit
  std::int64_t decay_ = 1;  // wsd: steps at the end of length_ in which the rate falls
  double stop_ = 0.0, factor_ = 1.0;
};

}  // namespace dptrain
