#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/training/trainer.h"
#include "model_slot.h"

namespace LAMMPS_NS {

struct SessionCounters;

/// The numbers with a blank between them.
std::string text_of(const std::vector<int> &values);
/// The checkpoint that the user means with FILE: itself, or FILE.ckpt beside a model FILE; where there is none, the
/// frames file FILE.frames. Throws dptrain::Error.
std::string resume_path(const std::string &file);
/// The frames file that belongs to a checkpoint: FILE.frames for FILE.ckpt.
std::string frames_path_of(const std::string &checkpoint);
/// Throws dptrain::Error that lists what differs between the model of a checkpoint and that of the slot.
void check_same_model(const std::string &path, const dptrain::ModelData &found,
                      const ModelSlot &slot);

/// What a checkpoint keeps of a session beside the state of the training.
struct SessionNumbers {
  SessionCounters &counters;
  dptrain::UpdateReport &report;
  std::int64_t &earned_steps;
  dptrain::Precision &precision;         ///< of the steps so far
  double &buffer_error;                  ///< see TrainingSession::watch_targets
  std::vector<double> &active;           ///< state of the ActiveLearning; empty: none
  std::vector<double> &given_whitening;  ///< see TrainingSession
};

dptrain::State pack(const SessionNumbers &session);
/// Throws dptrain::Error if the state is not one of fix dptrain.
void unpack(const dptrain::State &state, const SessionNumbers &session);

}  // namespace LAMMPS_NS
