#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/training/trainer.h"
#include "session/learning/bar_monitor.h"
#include "session/learning/health.h"
#include "session/learning/labeled_frames.h"
#include "session/learning/session_files.h"
#include "session/learning/session_state.h"
#include "session/learning/step_budget.h"
#include "session/learning/training_settings.h"

namespace dptrain {

/// A training whose frames come one after the other while a run goes on: from the first labels to a new model, and from each
/// further label to a better one, in the slot that the run takes it from. LabeledFrames has the frames, StepBudget the steps that
/// they have earned, SessionFiles what is written. Everything is collective; failures are Errors on all ranks.
class OnlineTraining {
 public:
  OnlineTraining(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelInUse> slot,
                 const LearningOptions &options, const Messages &messages);

  /// Continues from a checkpoint and the frames beside it, and finishes the training of its last label; without a
  /// checkpoint with the frames alone. Throws if it is one of another model.
  void resume(const std::string &file);
  /// Trains the model that the slot was given meanwhile, with the frames of `before`, types mapped by name. Throws if the
  /// model has not all elements of the frames.
  void take_frames(const OnlineTraining &before);

  /// Stores a labeled frame, the same on all ranks; the last one of the warm-up makes the model.
  void add(const WholeFrame &frame);
  /// Further steps, as many as so many labels earn.
  void earn(std::int64_t labels) { budget_.earn(labels); }
  /// The optimizer steps that the labels since the last call have earned; none during the warm-up.
  void train() { train_for(std::numeric_limits<double>::infinity()); }
  /// A part of these steps, about so many seconds long; the run goes on with the parameters that they have given.
  void train_for(double seconds);
  /// Whether labels have earned steps that are not done, or, while they are only kept, train_for() has not seen them.
  bool owes_steps() const
  {
    return trainer_ && (is_deferred() ? budget_.has_unseen() : budget_.owed() > 0);
  }
  /// Whether labels are kept and not trained on yet: there is no model, or, in mode active, a pretrained model has not been
  /// trained so far. The error bars use the labels all the same.
  bool is_deferred() const { return !trainer_ || (options_.active && state_.training_deferred); }
  /// A pretrained model is not trained in mode active until a label shows that it is wrong, when this is called: trained on a
  /// crystal at rest alone, with which a run may begin, it would unlearn all other configurations.
  void start_training() { state_.training_deferred = false; }
  /// The types of this model that those of another training have, by name; -1: none.
  std::vector<int> types_of(const OnlineTraining &other) const
  {
    return frames_.types_of(other.frames_);
  }
  /// See Trainer::fit_energy_bias; with the parameters of the run.
  void fit_energy_bias() { trainer_->fit_energy_bias(); }
  /// Makes the error bars of the model those of its present parameters and frames.
  void refresh_bars();
  /// With the model of the run.
  HeldOutError held_out_error();
  /// Adds a configuration without labels to the data set of the options and to selected.extxyz beside it, and lets the
  /// error bars know it, such that configurations like it are not selected again.
  void select(const WholeFrame &frame, const std::string &note);
  /// See LabeledFrames.
  bool is_latest(const WholeFrame &frame, const Label &label) const
  {
    return frames_.is_latest(frame, label);
  }
  /// Another program may go on with the files, until the next label. Not collective.
  void release_files() { frames_.release(); }
  /// The labels of this session are wrong: they are put aside, and what was learned from them. Returns a sentence that says so.
  std::string take_back();
  /// Writes model and checkpoint, if there is something new to write.
  void save();
  /// See LearningSession::on_update.
  void on_update(std::function<void()> work) { on_update_ = std::move(work); }

  /// Keyword and full path of the files that this training writes.
  std::vector<std::pair<std::string, std::string>> outputs() const { return files_.outputs(); }
  BarMonitor &bar_monitor() { return bar_monitor_; }
  const Health &health() const { return health_; }
  SessionCounters &counters() { return state_.counters; }
  const SessionCounters &counters() const { return state_.counters; }
  /// State of the ActiveLearning that goes with it, for checkpoints.
  State &active_state() { return state_.active; }
  const UpdateReport &report() const { return state_.report; }
  std::int64_t steps() const { return trainer_ ? trainer_->steps() : 0; }
  /// Memory of this rank by purpose: of the training, or with the model's.
  MemoryLedger memory(bool with_model) const;

 private:
  const TrainingConfig &config() const { return settings_.config(); }
  void say(const std::string &text) const { messages_.info(text); }
  void make_trainer();
  void check_charges() const;
  bool tries_charges(const ModelConfig &model) const;
  void tell_charges() const;
  void make_model();
  void resume_frames(const std::string &path);
  void or_save(const std::function<void()> &work);
  void watch();
  State progress() const;

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<ModelInUse> slot_;
  LearningOptions options_;
  Messages messages_;
  SessionState state_;
  TrainingSettings settings_;
  LabeledFrames frames_;
  StepBudget budget_;
  SessionFiles files_;
  BarMonitor bar_monitor_;
  Health health_;
  std::unique_ptr<Trainer> trainer_;
  std::function<void()> on_update_;
};

}  // namespace dptrain
