#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/models/model_in_use.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/trainer.h"
#include "session/session_counters.h"

namespace dptrain {

/// What a checkpoint keeps of a session beside the state of the training.
struct SessionState {
  SessionCounters counters;
  UpdateReport report;             ///< of the latest step
  std::int64_t earned_steps = 0;   ///< optimizer steps that labels have earned
  bool training_deferred = false;  ///< a pretrained model, no label above the threshold yet
  Precision precision = Precision::float64;  ///< of the steps so far
  State active;                              ///< of the ActiveLearning; empty: none
  FeatureMetric given_metric;                ///< see BarMonitor
};
DPTRAIN_FIELDS(SessionState, counters, report, earned_steps, training_deferred, precision, active,
               given_metric)

State pack(const SessionState &state);
/// Throws Error if the state is one of another program.
SessionState unpack(const State &state);

/// The checkpoint that the user means with FILE: itself, or FILE.ckpt beside a model FILE; where there is none, the frames
/// file FILE.frames, which has no label yet where there is only a FILE.requests. Throws Error.
std::string resume_path(const std::string &file);
/// The frames file that belongs to a checkpoint: FILE.frames for FILE.ckpt.
std::string frames_path_of(const std::string &checkpoint);
/// Throws Error that lists what differs between the model of a checkpoint and that of the slot.
void check_same_model(const std::string &path, const ModelData &found, const ModelInUse &slot);

}  // namespace dptrain
