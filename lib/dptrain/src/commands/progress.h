#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "dptrain/commands/commands.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/training/trainer.h"

namespace dptrain {

/// What a training shows while it runs: a line for each row of the learning curve, and between them, on a terminal, a bar
/// that is drawn over itself.
class Progress {
 public:
  /// Steps `first` to `total` are to be done.
  Progress(std::shared_ptr<const Communicator> comm, const LossConfig &loss, std::int64_t first,
           std::int64_t total, Log log, std::function<void(const std::string &)> draw);

  /// After each step.
  void step(std::int64_t step);
  /// A line with the errors and the memory, with `times` also the speed since the last line and the remaining time.
  /// Collective.
  void line(const UpdateReport &training, const std::optional<UpdateReport> &validation,
            bool times);
  /// Leaves the line of the bar.
  void end();
  double seconds() const;  ///< since the start

 private:
  using Clock = std::chrono::steady_clock;
  std::string remaining(std::int64_t step) const;

  std::shared_ptr<const Communicator> comm_;
  LossConfig loss_;
  std::int64_t first_, total_, line_step_;
  Log log_;
  std::function<void(const std::string &)> draw_;
  Clock::time_point start_, line_time_, draw_time_;
  bool drawn_ = false;
};

/// As hours:minutes:seconds.
std::string duration_text(double seconds);

/// Largest memory of a rank so far, in MiB. Collective.
double peak_memory_mib(const Communicator &comm);

}  // namespace dptrain
