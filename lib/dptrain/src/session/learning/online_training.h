#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/models/model_slot.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/training/learning_curve.h"
#include "dptrain/training/trainer.h"
#include "session/learning/frame_store.h"
#include "session/learning/health.h"
#include "session/learning/model_factory.h"
#include "session/learning/session_state.h"
#include "session/learning/training_settings.h"
#include "session/learning/uncertainty_monitor.h"

namespace dptrain {

/// A training whose frames come one after the other while a run goes on: from the first labels to a new model, and from each
/// further label to a better one, in the slot that the run takes it from. Everything is collective; failures are Errors on
/// all ranks.
class OnlineTraining {
 public:
  OnlineTraining(std::shared_ptr<const Communicator> comm, std::shared_ptr<ModelSlot> slot,
                 const LearningOptions &options, const Messages &messages);

  /// Continues from a checkpoint and the frames beside it, and finishes the training of its last label; without a
  /// checkpoint with the frames alone. Throws if it is one of another model.
  void resume(const std::string &file);
  /// Trains the model that the slot was given meanwhile, with the frames of `before`, types mapped by name. Throws if the
  /// model has not all elements of the frames.
  void take_frames(const OnlineTraining &before);

  /// Stores a labeled frame, the same on all ranks; the last one of the warm-up makes the model.
  void add(const WholeFrame &frame);
  /// The optimizer steps that the labels since the last call have earned; none during the warm-up. They end where the force
  /// errors of the latest frame and of the batches are below `target` of the options, or its time is over.
  void train() { train_for(std::numeric_limits<double>::infinity()); }
  /// A part of these steps, about so many seconds long; the run goes on with the parameters that they have given.
  void train_for(double seconds);
  /// Whether labels have earned steps that are not done, or, while they are only kept, train_for() has not seen them.
  bool owes_steps() const
  {
    return trainer_ && (is_deferred() ? has_unseen_ : state_.earned_steps > 0);
  }
  /// Whether labels are kept and not trained on yet: there is no model, or, in mode active, a pretrained model has not been
  /// trained so far. The uncertainties use the labels all the same.
  bool is_deferred() const { return !trainer_ || (options_.active && state_.training_deferred); }
  /// A pretrained model is not trained in mode active until a label exceeds the threshold, when this is called: trained on a
  /// crystal at rest alone, with which a run may begin, it would unlearn all other configurations.
  void start_training() { state_.training_deferred = false; }
  /// Root mean square error of the forces of the latest label that is trained on, eV/Angstrom.
  double latest_error();
  /// The types of this model that those of another training have, by name; -1: none.
  std::vector<int> types_of(const OnlineTraining &other) const;
  /// Makes the uncertainties of the model those of its present parameters and frames.
  void refresh_uncertainty();
  /// Errors of the latest held-out frames with the model of the run; NaN without any.
  UpdateReport held_out_errors();
  /// Adds a configuration without labels to the data set of the options and to selected.extxyz beside it, and lets the
  /// uncertainties know it, such that configurations like it are not selected again.
  void select(const WholeFrame &frame, const std::string &note);
  /// Another program may go on with the files, until the next label. Not collective.
  void release_files() { store_.release(); }
  /// Writes model and checkpoint, if there is something new to write.
  void save();
  /// See LearningSession::on_update.
  void on_update(std::function<void()> work) { on_update_ = std::move(work); }

  /// Keyword and full path of the files that this training writes.
  std::vector<std::pair<std::string, std::string>> outputs() const;
  UncertaintyMonitor &uncertainty() { return uncertainty_; }
  const Health &health() const { return health_; }
  SessionCounters &counters() { return state_.counters; }
  const SessionCounters &counters() const { return state_.counters; }
  /// State of the ActiveLearning that goes with it, for checkpoints.
  std::vector<double> &active_state() { return state_.active; }
  const UpdateReport &report() const { return state_.report; }
  std::int64_t steps() const { return trainer_ ? trainer_->steps() : 0; }
  /// Memory of this rank by purpose: of the training, or with the model's.
  MemoryLedger memory(bool with_model) const;

 private:
  const TrainingConfig &config() const { return settings_.config(); }
  void say(const std::string &text) const;
  void check_save_name() const;
  void check_folders() const;
  void check_label(const Label &label) const;
  void after_update();
  void divide_frames();
  Frame divide(const WholeFrame &frame);
  void make_trainer();
  void make_model();
  void keep(const WholeFrame &frame);
  void hold_out(Frame frame);
  std::vector<WholeFrame> load_frames(const std::string &path, std::int64_t count,
                                      const std::vector<int> &types);
  void load_later_frames(const std::string &path, std::vector<WholeFrame> &frames);
  std::int64_t num_learned(const std::vector<WholeFrame> &frames) const;
  void resume_frames(const std::string &path);
  void keep_start_model();
  void watch_targets();
  bool is_over(double seconds, double limit) const;
  void write(const std::function<void()> &work);
  void write_curve();
  void watch();
  std::vector<double> progress() const;
  bool nothing_new() const;

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<ModelSlot> slot_;
  LearningOptions options_;
  Messages messages_;
  TrainingSettings settings_;
  FrameStore store_;
  UncertaintyMonitor uncertainty_;
  Health health_;
  std::vector<std::string> type_map_;  // of the frames
  std::optional<Distributor> distributor_;
  std::optional<ModelFactory> factory_;  // until there is a model
  std::vector<Frame> waiting_;           // frames for it
  std::unique_ptr<Trainer> trainer_;
  bool has_unseen_ = false;               // labels since train_for()
  std::unique_ptr<LearningCurve> curve_;  // on rank 0
  std::function<void()> on_update_;
  SessionState state_;
  bool resumed_ = false;
  std::vector<double> saved_;      // progress() of the latest checkpoint
  std::int64_t latest_place_ = 0;  // of the latest label in the trainer's buffer
  double label_seconds_ = 0.0;     // of the training since no steps were owed
  int owed_labels_ = 0;            // that have earned them
  std::vector<Frame> held_out_;
};

}  // namespace dptrain
