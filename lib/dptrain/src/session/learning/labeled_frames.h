#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/base/messages.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/training/trainer.h"
#include "dptrain/uncertainty/active_learning.h"
#include "session/learning/frame_store.h"
#include "session/learning/model_factory.h"
#include "session/session_counters.h"

namespace dptrain {

/// The labeled frames of a session: each is stored on the disk, divided over the ranks, and given to the training, held out for
/// validation, or kept until there is a model. Collective.
class LabeledFrames {
 public:
  /// `config` and `counts` are those of the session, and stay.
  LabeledFrames(std::shared_ptr<const Communicator> comm, std::shared_ptr<const ModelInUse> slot,
                const LearningOptions &options, const TrainingConfig &config, FrameCounts &counts,
                const Messages &messages);

  /// Frames are divided for the present model and settings from now on.
  void divide();
  /// This rank's share; tells how frames of this size are divided, where that was a choice.
  Frame share(const WholeFrame &frame);
  /// Stores a frame. Warns of the first one if its label lacks what the loss asks for.
  void add(const WholeFrame &frame);
  /// Whether the label of this configuration, which is no cut-out, was stored last: the first step of a run is the last one of
  /// the run before.
  bool is_latest(const WholeFrame &frame, const Label &label) const;
  /// Another program may write the frames file, until the next frame. Not collective.
  void release() { store_.release(); }

  /// See FrameStore.
  std::string take_back() { return store_.take_back(); }

  /// Makes the first model from the frames that wait for it.
  ModelData make_model();
  /// These.
  const std::vector<Frame> &waiting() const { return waiting_; }
  /// The smallest distance of two atoms in them, Angstrom.
  double smallest_distance() const { return factory_->statistics().min_distance(); }
  /// This training gets the frames that wait, and those to come.
  void train_with(Trainer &trainer);
  /// With the model of the run.
  HeldOutError held_out_error() const;
  /// Adds those that the training does not have.
  void add_memory(MemoryLedger &ledger) const;

  const std::string &path() const { return store_.path(); }
  /// The types here that those of other frames have, by name; -1: none.
  std::vector<int> types_of(const LabeledFrames &other) const;
  /// The first `count` frames of a file (-1: all) as if they had come one by one. Old ones that the buffer has dropped are left out, so that each of the others comes to the place that it had. Rank 0 has all
  /// of those returned.
  std::vector<WholeFrame> load(const std::string &path, std::int64_t count);
  /// The frames that come after `frames` in the file, which a program that ended before its next checkpoint has left. The
  /// session goes on with all of them. Returns how many of these there are to train on.
  std::int64_t load_later(const std::string &path, std::vector<WholeFrame> &frames);
  /// Goes on with what load() finds. Returns how many there are to train on.
  std::int64_t go_on_with(const std::string &path, std::int64_t count);

 private:
  void keep(const WholeFrame &frame);
  void check_baseline(const WholeFrame &frame, const std::string &path) const;
  std::int64_t num_learned(const std::vector<WholeFrame> &frames) const;

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<const ModelInUse> slot_;
  const LearningOptions &options_;
  const TrainingConfig &config_;
  FrameCounts &counts_;
  Messages messages_;
  FrameStore store_;
  std::vector<std::string> type_map_;
  std::optional<Distributor> distributor_;
  std::optional<ModelFactory> factory_;  // until there is a model
  std::vector<Frame> waiting_;           // for it
  Trainer *trainer_ = nullptr;           // from then on
  std::vector<Frame> held_out_;          // the latest
};

}  // namespace dptrain
