#pragma once

#include <optional>
#include <string>

#include "dptrain/base/messages.h"
#include "dptrain/input/config.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/session/learning_options.h"

namespace dptrain {

/// How a session trains: what the options say, else the input file of the training, else that of a new model, else the
/// defaults of this program.
class TrainingSettings {
 public:
  /// Reads the input file. `say` is called on rank 0. Collective.
  TrainingSettings(const Communicator &comm, const LearningOptions &options, const ModelInUse &slot,
                   const Log &say);

  const TrainingConfig &config() const { return config_; }
  /// Optimizer, learning rate and loss in a line for the log.
  std::string summary() const;
  /// Settings of the checkpoint `path`, of which those go on that neither options nor an input file give: all of them where
  /// there is no file; else the optimizer, whose state the checkpoint has, its learning rate, and the average of the
  /// weights. Throws Error where another optimizer is asked for.
  void continue_from(const std::string &path, const std::string &training_text);

 private:
  const LearningOptions &options_;
  const ModelInUse &slot_;
  std::optional<InputFile> input_;  // the file that says how to train
  TrainingConfig config_;

  void configure(const InputFile &input);
  void choose_optimizer(const InputFile &input);
};

}  // namespace dptrain
