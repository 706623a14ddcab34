#pragma once

#include "session/online_training.h"
#include "session/reference_desk.h"

namespace dptrain {

/// Labels at regular steps; the reference moves the atoms until the first training has ended.
class PassiveMode {
 public:
  PassiveMode(OnlineTraining &training, ReferenceDesk &desk, const LearningOptions &options) :
      training_(training), desk_(desk), options_(options)
  {
  }
  void step(Trajectory &run);

 private:
  OnlineTraining &training_;
  ReferenceDesk &desk_;
  const LearningOptions &options_;
};

}  // namespace dptrain
