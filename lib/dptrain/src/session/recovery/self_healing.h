#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/base/units.h"
#include "dptrain/session/trajectory.h"
#include "session/recovery/trouble_watch.h"

namespace dptrain {

/// A run that goes wrong goes back to a trusted state, so many times: notices trouble, chooses the state and tells of it. The run
/// keeps the states. All ranks see the same numbers and decide the same.
///
/// The first return is to a state that is older than the trouble by a little; where the run comes into trouble again before it has
/// passed the place, it goes back further. After a return the reference is asked every few steps, so that the model learns
/// the way into the trouble.
class SelfHealing {
 public:
  /// `most` returns; 0: none, and nothing is watched.
  SelfHealing(int most, const UnitFactors &units, const Messages &messages);

  /// Whether something is watched: a return is left.
  bool is_on() const { return done_ < most_; }
  int done() const { return done_; }
  /// Whether answers are of configurations that the run is not in, and no trouble of it.
  void go_elsewhere(bool on) { is_elsewhere_ = on; }
  /// A run begins at this step.
  void begin_run(std::int64_t step);

  /// The present step, which the model moves, before the reference is asked. True where it should be, and waited for.
  bool look(const Trajectory &run);
  /// An answer about the configuration of a step: errors that were expected and found, and the limit. Trouble is an error above
  /// the limit where the model has moved the atoms, also if it was expected there: it was not expected in time.
  void compare(std::int64_t step, double expected, double found, double limit);
  /// Whether a label of a step in trouble, or of an abandoned stretch, is too far from all others to be learned from; root mean squares
  /// of its and of usual forces.
  bool is_outlier(std::int64_t step, double force, double usual) const;
  /// What is known at the end of a step.
  struct Step {
    bool answered = false;     ///< the reference was asked
    bool fine = false;         ///< the errors are small enough for a state to go back to
    bool model_moves = false;  ///< from here on
  };
  /// The end of a step. True: the run goes back.
  bool finish(Trajectory &run, const Step &step);
  /// The engine cannot go on from the present step. True: it goes back.
  bool rescue(Trajectory &run, const std::string &why);
  /// Why it does not.
  std::string refusal() const;

 private:
  bool is_due(std::int64_t step) const;
  bool was_abandoned(std::int64_t step) const;
  bool go_back(Trajectory &run);

  int most_, done_ = 0;
  UnitFactors units_;
  Messages messages_;
  TroubleWatch watch_;
  std::string trouble_;  // of the present step; empty: none
  std::int64_t trouble_step_ = 0;
  bool model_moved_ = false;             // the atoms to where they are
  std::int64_t left_ = 0, reached_ = 0;  // steps of the latest return
  // of all of them: answers about a way that was left may come later, and are no trouble any more
  std::vector<std::pair<std::int64_t, std::int64_t>> abandoned_;  // reached, left
  std::optional<std::int64_t> first_step_;                        // of this program
  bool is_elsewhere_ = false;
  bool told_ = false;  // that there is no state yet
};

}  // namespace dptrain
