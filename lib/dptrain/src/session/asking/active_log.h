#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>

#include "dptrain/base/messages.h"
#include "dptrain/base/units.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/uncertainty/active_learning.h"
#include "session/learning/outcome.h"
#include "session/learning/session_state.h"
#include "session/requests/label_request.h"

namespace dptrain {

/// What an active session tells of a run: a line for each answer of the reference, and a summary.
class ActiveLog {
 public:
  ActiveLog(const SessionCounters &counters, const LearningOptions &options,
            const Messages &messages);

  /// The head of the table.
  void begin();
  /// What is counted from now on: the summary is of what comes after this step. `jumps`: sum of the jumps so far, eV.
  void open(std::int64_t step, double jumps);
  void line(const LabelRequest &request, const Outcome &outcome, double jumps);
  void summary(const std::string &name, std::int64_t step, const ActiveLearning &learning,
               const ErrorBars &bars, const std::vector<std::string> &type_map, double batch_error,
               const HeldOutError &held_out, double jumps) const;
  std::int64_t first_step() const { return first_step_; }
  /// Reference calls of the run so far.
  std::int64_t calls() const { return counters_.reference.calls - calls_before_; }
  /// So many of them were not about its steps.
  void explored(std::int64_t calls) { explored_calls_ = calls; }
  /// The present step, and the last one, for the lines from here on; then its expected error.
  void at(std::int64_t step, std::int64_t last_step) { step_ = step, last_step_ = last_step; }
  void expect(double error) { expected_error_ = error; }
  /// For runs of hours: where the run is, every so many seconds of the options. To be called at each step, and while it waits.
  void progress(std::int64_t in_flight, const ActiveLearning &learning);

  /// Tells, once, that the accuracy is out of the model's reach, and what helps.
  void tell_out_of_reach(const ActiveLearning &learning);
  /// Warns, once, of a given limit (eV/Angstrom; 0: none) that is below the threshold that the accuracy means.
  void tell_low_limit(const ActiveLearning &learning, double limit);
  /// Warns, once, of an accuracy in eV/Angstrom that is larger than the forces.
  void tell_large_accuracy(const ActiveLearning &learning);
  /// Warns, once, of atoms (at this distance, Angstrom) that are closer than the model knows.
  void warn_of_close_atoms(double distance);
  /// Warns of a model that has not the accuracy that is wanted.
  void warn_of_error(const ActiveLearning &learning, const HeldOutError &held_out) const;

 private:
  std::array<double, 3> seconds() const;
  std::string error_text(double error, const ActiveLearning &learning) const;
  std::string accuracy_text(const ActiveLearning &learning, const HeldOutError &held_out) const;

  const SessionCounters &counters_;
  UnitFactors units_;
  Messages messages_;
  std::chrono::steady_clock::time_point start_;
  double reference_before_ = 0.0, train_before_ = 0.0;  // seconds
  double printed_jumps_ = 0.0;                          // eV, up to the latest line
  std::int64_t step_ = 0, last_step_ = 0;
  double expected_error_ = 0.0;
  std::deque<double> answer_errors_;  // of the latest answers: rms before they were learned
  std::int64_t first_step_ = 0, calls_before_ = 0, discarded_before_ = 0, explored_calls_ = 0;
  double progress_seconds_;
  std::chrono::steady_clock::time_point progress_time_;
  std::int64_t progress_step_ = 0;
  bool close_atoms_warned_ = false, out_of_reach_told_ = false, low_limit_told_ = false,
       large_accuracy_told_ = false;
};

}  // namespace dptrain
