#include "checkpoint/training_checkpoint.h"

namespace dptrain {

Checkpoint checkpoint_of(const Communicator &comm, const Trainer &trainer, const Model &model)
{
  Checkpoint checkpoint;
  checkpoint.trainer = trainer.state();
  checkpoint.average = trainer.potential_parameters();
  guarded(comm, [&] {
    if (comm.rank() != 0) return;
    checkpoint.model = model.data();
    checkpoint.parameters = trainer.raw_parameters();
    if (!checkpoint.average.empty()) checkpoint.model.parameters = checkpoint.average;
    checkpoint.auxiliary_state = model.auxiliary_state();
    checkpoint.training = training_text(trainer.config());
  });
  return checkpoint;
}

bool restore_tables(const Communicator &comm, Model &model, const Checkpoint &checkpoint,
                    bool same_precision)
{
  if (same_precision) guarded(comm, [&] { model.set_auxiliary_state(checkpoint.auxiliary_state); });
  return same_precision;
}

}  // namespace dptrain
