#pragma once

#include "dptrain/models/model_in_use.h"
#include "dptrain/uncertainty/bar_calibration.h"
#include "session/learning/online_training.h"
#include "session/requests/request_book.h"

namespace dptrain {

/// A step of a run with labels at regular steps; the reference moves the atoms until the first training has ended. Where somebody
/// asks for error bars, the labels calibrate them.
void passive_step(Trajectory &run, OnlineTraining &training, RequestBook &book, ModelInUse &slot,
                  BarCalibration &calibration, const LearningOptions &options);

}  // namespace dptrain
