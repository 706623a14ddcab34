#pragma once

#include <chrono>
#include <optional>

namespace dptrain {

/// When a run that goes on beside its training gives way to a slice of it, such that the training takes a given share of
/// the time. Each slice costs an evaluation of the model and new tables beside its steps: it is not short.
class TrainingPace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double everything = 1e9;  ///< seconds of a slice that ends when nothing is owed
  explicit TrainingPace(double share) : share_(share) {}

  /// At a step of the run that owes training: seconds of the slice that is due; 0: none yet. Time counts from the first such
  /// step after end().
  double due(Clock::time_point now)
  {
    if (share_ >= 1.0) return everything;
    if (!since_) since_ = now;
    const double seconds =
        share_ / (1.0 - share_) * std::chrono::duration<double>(now - *since_).count();
    return seconds < shortest ? 0.0 : seconds;
  }
  /// A slice has ended, and more is owed.
  void slice_done(Clock::time_point now) { since_ = now; }
  /// Nothing is owed any more.
  void end() { since_.reset(); }

 private:
  static constexpr double shortest = 0.1;  // seconds
  double share_;
  std::optional<Clock::time_point> since_;
};

}  // namespace dptrain
