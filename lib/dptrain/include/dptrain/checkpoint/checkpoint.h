#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// Everything a continued training needs besides the frames.
struct Checkpoint {
  ModelData model;                 ///< as exported for use: with the average, if there is one
  std::vector<double> parameters;  ///< master weights, raw float64
  std::vector<double>
      average;  ///< of the weights, or the best one that there was, float64; empty where none is kept
  State trainer;                        ///< Trainer::state()
  std::vector<double> auxiliary_state;  ///< Model::auxiliary_state()
  std::int64_t num_frames = 0;          ///< index into FILE.frames
  State session;         ///< of the program around the trainer, whose name is its text `program`
  std::string training;  ///< training_text() of the settings
};

/// Names of programs in Checkpoint::session.
inline constexpr char program_fix[] = "fix dptrain", program_train[] = "dptrain train";

void write_checkpoint(const std::string &path, const Checkpoint &checkpoint);
/// Throws Error where the file is none, is damaged, or is of another version.
Checkpoint read_checkpoint(const std::string &path);
/// Copies the checkpoint of rank 0 to all ranks. Collective.
void broadcast(const Communicator &comm, Checkpoint &checkpoint);

}  // namespace dptrain
