#pragma once

#include <optional>
#include <string>

#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/commands/commands.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// The file that a training from data sets starts from, if it starts from one.
struct StartFile {
  std::string option;                 ///< as it was given: option and file, or empty
  std::optional<ModelData> model;     ///< of the file
  std::optional<Checkpoint> restart;  ///< all of it, with --restart
};

/// Reads the file of --restart, --init-model or --finetune. Collective; throws Error on all ranks.
StartFile read_start_file(const Communicator &comm, const TrainOptions &options);

/// The input of a training from its text: where asked for, with the model section of the file that it starts from, whose
/// model must be the one of the input. Which parts are trained is taken over into the model of the file.
InputFile input_of_start(const std::string &text, const TrainOptions &options, StartFile &start);

}  // namespace dptrain
