#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "dptrain/base/messages.h"
#include "dptrain/base/units.h"
#include "dptrain/uncertainty/active_learning.h"
#include "session/reference_desk.h"
#include "session/session_state.h"

namespace dptrain {

/// What became of an answer of the reference. Errors in eV/Angstrom.
struct Outcome {
  double max_error =
      0.0;  ///< of the model before it has learned: largest length of an atom's force error
  double rms_error = 0.0;      ///< and root mean square of the components
  double learned_error = 0.0;  ///< largest one after the training
  enum class Fate { learned, held_out, duplicate, not_used } fate = Fate::not_used;
  bool reference_moves = true;
  bool stored() const { return fate == Fate::learned || fate == Fate::held_out; }
};

/// What an active session tells of a run: a line for each answer of the reference, and a summary.
class ActiveLog {
 public:
  ActiveLog(const SessionCounters &counters, const UnitFactors &units, const Messages &messages);

  /// The head of the table.
  void begin();
  /// What is counted from now on: the summary is of what comes after this step. `jumps`: sum of the jumps so far, eV.
  void open(std::int64_t step, double jumps);
  void line(const LabelRequest &request, const Outcome &outcome, double jumps);
  void summary(const std::string &name, std::int64_t step, const ActiveLearning &learning,
               double batch_error, double held_out_error, double jumps) const;
  std::int64_t first_step() const { return first_step_; }

 private:
  std::array<double, 3> seconds() const;

  const SessionCounters &counters_;
  UnitFactors units_;
  Messages messages_;
  std::chrono::steady_clock::time_point start_;
  double reference_before_ = 0.0, train_before_ = 0.0;  // seconds
  double printed_jumps_ = 0.0;                          // eV, up to the latest line
  std::int64_t first_step_ = 0, calls_before_ = 0;
};

}  // namespace dptrain
