#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "session/asking/active_log.h"
#include "session/asking/cutout_requests.h"
#include "session/asking/energy_jumps.h"
#include "session/learning/learner.h"
#include "session/recovery/self_healing.h"

namespace dptrain {

class FrameRun;

/// The run goes on with the model, and the reference is asked where the error bars say so. Whether to ask, whether to wait and
/// who moves the atoms on is decided here, by ActiveLearning's numbers.
class ActiveMode {
 public:
  /// `comm`: the ranks of this run. `book`: null where configurations are selected, and nobody is asked. `group`: those who
  /// learn together with this run; null: nobody.
  ActiveMode(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelInUse> slot,
             OnlineTraining &training, RequestBook *book, ReplicaGroup *group,
             const LearningOptions &options, const Messages &messages);
  ~ActiveMode() { slot_->set_bars_due({}); }
  ActiveMode(const ActiveMode &) = delete;
  ActiveMode &operator=(const ActiveMode &) = delete;

  void begin_run(std::int64_t step);
  void step(Trajectory &run);
  /// See LearningSession::rescue.
  void rescue(Trajectory &run, const std::string &why);
  void minimization_step(Trajectory &run);  // active_minimization.cpp
  void selection_step(Trajectory &run);     // active_selection.cpp
  /// See LearningSession::explore.
  void explore(Trajectory &run);  // active_exploring.cpp
  void end_run(std::int64_t step, const std::string &name);
  /// This run will never go on: helps the others to learn until none of them will.
  void leave_group();
  /// Configurations whose answers will be taken when they come, while the run goes on.
  std::int64_t in_flight() const { return book_ ? book_->num_left() : 0; }

  const ActiveLearning &learning() const { return decisions_; }
  // of the latest step
  double expected_error() const { return latest_.request.expected; }  ///< eV/Angstrom
  bool model_moves() const { return latest_.model_moves; }
  /// Root mean square error of the forces, eV/Angstrom.
  double held_out_error() const { return learning_->held_out().error; }
  /// Largest error of a force at the latest answer, eV/Angstrom.
  double found_error() const { return learning_->found_error(); }
  double jumps() const { return jumps_.sum(); }  ///< eV
  int rewinds() const { return healing_.done(); }
  /// See BarMonitor::distance.
  double distance(const Trajectory &run) const;

 private:
  /// What is known of a step, and what has been decided.
  struct StepView {
    std::int64_t step = 0;
    LabelRequest request;  ///< why the reference is asked, the expected error, the model's energy
    bool close = false;    ///< two atoms are inside of their wall
    bool has_looked = false;   ///< at the bars of the atoms
    bool whole_asked = false;  ///< the run waits for a label of its whole configuration
    bool model_moves = false;  ///< the atoms on from here
  };
  /// A label that the run has waited for, and what became of it.
  struct Answer {
    LabelRequest request;
    Label label;
    Outcome outcome;
  };

  // the parts of a step, in their order
  void learn_what_has_come(Trajectory &run);  // active_asynchronous.cpp
  StepView look(const Trajectory &run);
  void decide(Trajectory &run, StepView &now);
  std::vector<LabelRequest> ask_or_leave(Trajectory &run, StepView &now);
  std::vector<Answer> judge(std::vector<LabelRequest> requests);
  void learn(const std::vector<Answer> &answers);
  void choose_forces(Trajectory &run, StepView &now, std::vector<Answer> &answers);
  void recover(Trajectory &run, StepView &now);

  /// What all ranks see of the present atoms.
  struct Sight {
    double bar = 0.0;    ///< the largest of an atom; 0: not looked at
    bool close = false;  ///< two atoms are inside of their wall
  };
  Sight see(const Trajectory &run, bool with_bars = true);
  bool looks_at_bars(std::int64_t step) const;
  bool continues_from_answer(const Trajectory &run, const StepView &now) const;
  bool is_due(const StepView &now) const;
  void choose_ask(StepView &now);
  std::vector<LabelRequest> requests_for(Trajectory &run, StepView &now);
  std::vector<LabelRequest> ask(Trajectory &run, StepView &now);
  void move_on(Trajectory &run, Answer &answer);
  void move_on_around(Trajectory &run, const StepView &now, std::vector<Answer> &answers);
  void move_on_without(Trajectory &run, StepView &now);
  void keep_scale(const Trajectory &run, double before);
  void prepare(Trajectory &run);
  void ask_for_copies(Trajectory &run);
  // short runs after a run: active_exploring.cpp
  void keep_temperature(const Trajectory &run);
  double kt_of_run() const;
  class Excursion;
  void explore_from(const WholeFrame &start, double kt);
  std::int64_t walk(FrameRun &trial, const WholeFrame &first, double kt, std::uint64_t k);
  void settle();
  // answers that come while the run goes on: active_asynchronous.cpp
  bool may_leave(const StepView &now) const;
  void leave(Trajectory &run, StepView &now);
  void learn_and_go_on(Trajectory &run, const std::function<bool()> &learn);
  void catch_up(Trajectory &run, StepView &now);
  [[noreturn]] void stop_above_limit(const StepView &now);
  void warn_above_limit(std::int64_t step, double error);

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<ModelInUse> slot_;
  OnlineTraining &training_;
  RequestBook *book_;
  const LearningOptions &options_;
  Messages messages_;
  ActiveLog log_;
  SelfHealing healing_;
  std::unique_ptr<Learner> learning_;
  ActiveLearning &decisions_;              // of learning_
  EnergyJumps jumps_;                      // eV
  std::optional<CutoutRequests> cutouts_;  // none: the reference gets the whole box
  StepView latest_;                        // for reports
  bool prepares_;                          // at the next step
  bool run_open_ = false, above_limit_warned_ = false;
  bool is_exploring_ = false;
  double kinetic_energy_ = 0.0;      // of an atom, eV: mean over the latest looks of the run
  int looks_ = 0;                    // at it
  std::int64_t answered_step_ = -1;  // the latest that went on from an answer
  std::int64_t looked_at_ = 0;       // configurations, where they are selected
};

}  // namespace dptrain
