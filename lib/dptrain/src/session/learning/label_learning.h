#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "session/learning/online_training.h"
#include "session/learning/outcome.h"
#include "session/learning/replica_group.h"
#include "session/learning/training_pace.h"
#include "session/recovery/self_healing.h"
#include "session/requests/reference_desk.h"

namespace dptrain {

/// Judges the labels that come to an active session and learns from them: at once, while the run waits; in slices beside a run
/// that goes on; or together with other runs, of which each judges the labels of all in the same order.
class LabelLearning {
 public:
  /// What is told of an answer to a request that the run has left.
  using Late = std::function<void(const LabelRequest &, const Outcome &)>;

  /// `run`: the ranks of this run. `desk`: null where configurations are selected. `group`: the runs that learn together; null:
  /// this one alone. `healing` hears of the errors that labels of this run show.
  LabelLearning(std::shared_ptr<const Communicator> run, std::shared_ptr<ModelSlot> slot,
                OnlineTraining &training, ReferenceDesk *desk, ReplicaGroup *group,
                SelfHealing &healing, const LearningOptions &options, Late late);

  ActiveLearning &decisions() { return decisions_; }
  const ActiveLearning &decisions() const { return decisions_; }
  double held_out_error() const { return held_out_error_; }     ///< rmse of the forces, eV/Angstrom
  double found_error() const { return found_error_; }           ///< largest, at the latest answer
  void set_found_error(double error) { found_error_ = error; }  ///< of several answers at once

  /// Compares the model with the label that the run has waited for, and stores it unless it tells nothing new. Runs that learn
  /// together have also learned it.
  Outcome judge_awaited(const LabelRequest &request, const Label &label);
  /// The optimizer steps that the labels have earned, and what follows from them.
  void learn();

  /// Whether the run may leave another request. Not while a label is being learned: the uncertainties are those of other
  /// parameters then, and far too large.
  bool has_room() const;
  /// Whether a configuration is like one that the run has left.
  bool resembles_left(const LabelRequest &request) const;
  /// Judges the answers that have come to such requests; runs that learn together do so when they meet.
  void take_answers();
  /// Waits until one of them has come.
  void wait_for_answer();
  /// Whether learn_slice() is to be called at this step. `has_model`: a model moves the atoms. Collective over the ranks of the
  /// run.
  bool slice_is_due(bool has_model);
  /// A slice of the training, such that it takes its share of the time, or all of it where a run waits for it. Returns whether
  /// the model has changed. Runs that learn together do it together.
  bool learn_slice();
  /// Does all that is owed.
  void learn_all_owed();
  bool owes_training() const { return training_.owes_steps(); }

  /// To be called while the run waits: meets the others, if they do.
  void meet();
  bool is_shared() const { return group_ != nullptr; }
  int run_index() const { return group_ ? group_->index() : 0; }  ///< among those who do
  /// Whether the model has changed while the run waited, since the last call.
  bool take_change() { return std::exchange(changed_, false); }
  /// The run has come to its end: helps the others, until all have; `leaves`: until none of them will go on.
  void rest(bool leaves);

 private:
  bool is_held_out(const LabelRequest &request) const;
  void bring(AnsweredRequest answer);
  Outcome judge(AnsweredRequest &answer);
  void judge_all(std::vector<AnsweredRequest> answers);
  void finish();
  void refresh_scores();
  ReplicaGroup::Offer offer();

  std::shared_ptr<const Communicator> run_;
  std::shared_ptr<ModelSlot> slot_;
  OnlineTraining &training_;
  ReferenceDesk *desk_;
  ReplicaGroup *group_;
  SelfHealing &healing_;
  const LearningOptions &options_;
  Late late_;
  ActiveLearning decisions_;
  TrainingPace pace_;
  double held_out_error_ = 0.0, found_error_ = 0.0;
  std::vector<AnsweredRequest> brought_;  // answers that have not been judged yet
  std::optional<std::int64_t> awaited_;   // the request whose label this run waits to learn
  std::optional<Outcome> awaited_outcome_;
  bool waits_for_training_ = false, changed_ = false;
  double late_error_ratio_ = 0.0;  // largest error over rmse of a label that came later; 0: none
};

}  // namespace dptrain
