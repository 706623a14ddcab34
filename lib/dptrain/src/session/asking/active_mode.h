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

/// The run goes on with the model, and the reference is asked where the uncertainty says so. Whether to ask, whether to wait and
/// who moves the atoms on is decided here, by ActiveLearning's numbers.
class ActiveMode {
 public:
  /// `comm`: the ranks of this run. `book`: null where configurations are selected, and nobody is asked. `group`: those who
  /// learn together with this run; null: nobody.
  ActiveMode(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelSlot> slot,
             OnlineTraining &training, RequestBook *book, ReplicaGroup *group,
             const LearningOptions &options, const Messages &messages);

  void begin_run(std::int64_t step);
  void step(Trajectory &run);
  /// See LearningSession::rescue.
  void rescue(Trajectory &run, const std::string &why);
  void minimization_step(Trajectory &run);  // active_minimization.cpp
  void selection_step(Trajectory &run);     // active_selection.cpp
  void end_run(std::int64_t step, const std::string &name);
  /// This run will never go on: helps the others to learn until none of them will.
  void leave_group();
  /// Configurations whose answers will be taken when they come, while the run goes on.
  std::int64_t in_flight() const { return book_ ? book_->num_left() : 0; }

  const ActiveLearning &learning() const { return decisions_; }
  double expected_error() const { return expected_error_; }  ///< of the present step, eV/Angstrom
  bool model_moves() const { return model_moves_; }          ///< at the present step
  double held_out_error() const
  {
    return learning_->held_out_error();
  }  ///< rmse of the forces, eV/Angstrom
  double found_error() const
  {
    return learning_->found_error();
  }                                              ///< largest, at the latest answer
  double jumps() const { return jumps_.sum(); }  ///< eV
  int rewinds() const { return healing_.done(); }
  /// See UncertaintyMonitor::distance.
  double distance(const Trajectory &run) const;

 private:
  void prepare(Trajectory &run);
  void ask_for_copies(Trajectory &run);
  // what is known of the present step
  LabelRequest look(const Trajectory &run);
  bool continues_from_answer(const Trajectory &run) const;
  bool is_due(const LabelRequest &request) const;
  void decide(LabelRequest &request);
  void ask(Trajectory &run, LabelRequest &request);
  std::optional<Label> answer_to(Trajectory &run, LabelRequest &request);
  // what follows from an answer
  void move_on(Trajectory &run, const LabelRequest &request, const Label &label, Outcome &outcome);
  void keep_scale(const Trajectory &run, double score);
  // cut-outs in place of the whole box: active_cutouts.cpp
  struct Answered {
    LabelRequest request;
    Label label;
    Outcome outcome;
  };
  bool ask_around(Trajectory &run, LabelRequest &step);
  std::vector<LabelRequest> requests_around(Trajectory &run, LabelRequest &step);
  std::vector<Answered> answers_around(std::vector<LabelRequest> requests);
  void learn_around(Trajectory &run, const LabelRequest &step, std::vector<Answered> &answered);
  void minimize_around(const std::vector<Answered> &answered);
  void warn_above_limit(double error);
  void note_answer(const Trajectory &run, const LabelRequest &request, const Label &label);
  // answers that come while the run goes on: active_asynchronous.cpp
  bool may_leave(const LabelRequest &request) const;
  void leave(Trajectory &run, LabelRequest &request);
  void learn_beside(Trajectory &run);
  void learn_and_go_on(Trajectory &run, const std::function<bool()> &learn);
  void catch_up(Trajectory &run, LabelRequest &request);
  void go_on_with_model(Trajectory &run);
  void heal(Trajectory &run);
  // messages
  void tell_progress();
  [[noreturn]] void stop_above_limit(const LabelRequest &request);
  double largest_score(const Trajectory &run);

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<ModelSlot> slot_;
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
  double expected_error_ = 0.0;
  bool prepares_;  // at the next step
  bool model_moves_ = false, run_open_ = false, above_limit_warned_ = false;
  std::int64_t step_ = 0, last_step_ = 0;
  std::int64_t answered_step_ = -1;  // the latest that went on from an answer
  std::int64_t looked_at_ = 0;       // configurations, where they are selected
};

}  // namespace dptrain
