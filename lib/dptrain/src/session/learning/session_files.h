#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/base/messages.h"
#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/input/config.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/session/learning_options.h"
#include "dptrain/training/learning_curve.h"

namespace dptrain {

/// The files of a session but that of its frames: model and checkpoint, learning curve, data set. Rank 0 has them. All functions but
/// outputs() are collective and throw Error on all ranks.
class SessionFiles {
 public:
  /// Throws Error where a folder is missing, or the model cannot be written in the format of its file: before a label was paid
  /// for. `config` is that of the session, and stays.
  SessionFiles(std::shared_ptr<const Communicator> comm, std::shared_ptr<const ModelInUse> slot,
               const LearningOptions &options, const TrainingConfig &config,
               const Messages &messages);

  /// Keyword and full path.
  std::vector<std::pair<std::string, std::string>> outputs() const;
  /// The checkpoint that the user means with `path`, which becomes its path, or, where there is none, that of the frames file. Throws
  /// Error if it is one of another model.
  std::optional<Checkpoint> read(std::string &path) const;
  /// What is written goes on from an earlier session.
  void continue_earlier() { continues_ = true; }
  void write_curve(const UpdateReport &report);
  void add_to_dataset(const WholeFrame &frame) const;
  /// Adds a selected configuration to the data set, and to selected.extxyz beside it.
  void select(const WholeFrame &frame, const std::string &note) const;
  /// Whether there is something new to save: `progress` changes with it. A model that was given and has not
  /// `learned` here must not take the place of a file, whose checkpoint knows more of it.
  bool has_news(const State &progress, bool learned) const;
  ~SessionFiles();
  /// Model and checkpoint that this session has written are renamed, and those of the session before take their places. Returns what it has done; empty where there are none.
  std::string take_back();
  /// Writes checkpoint and model, which rank 0 has.
  void save(const Checkpoint &checkpoint, const State &progress);

 private:
  void on_rank_zero(const std::function<void()> &work) const;

  std::shared_ptr<const Communicator> comm_;
  std::shared_ptr<const ModelInUse> slot_;
  const LearningOptions &options_;
  const TrainingConfig &config_;
  Messages messages_;
  std::unique_ptr<LearningCurve> curve_;  // on rank 0
  bool continues_ = false;
  State saved_;  // progress of the latest checkpoint
  std::vector<std::string>
      before_;  // what the first save has replaced, with the ending earlier_ending; on rank 0
};

}  // namespace dptrain
