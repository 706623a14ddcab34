#pragma once

#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/training/trainer.h"

namespace dptrain {

/// What a checkpoint keeps of any training: the model, its parameters and their average, the trainer's state, the settings.
/// Complete on rank 0. Collective.
Checkpoint checkpoint_of(const Communicator &comm, const Trainer &trainer, const Model &model);

/// Puts the state of the tables of a checkpoint back, where the model computes in the precision that it had: another one
/// needs other knots. Returns whether it did. Collective.
bool restore_tables(const Communicator &comm, Model &model, const Checkpoint &checkpoint,
                    bool same_precision);

}  // namespace dptrain
