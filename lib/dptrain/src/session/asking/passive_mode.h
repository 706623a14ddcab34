#pragma once

#include "session/learning/online_training.h"
#include "session/requests/request_book.h"

namespace dptrain {

/// A step of a run with labels at regular steps; the reference moves the atoms until the first training has ended.
void passive_step(Trajectory &run, OnlineTraining &training, RequestBook &book,
                  const LearningOptions &options);

}  // namespace dptrain
