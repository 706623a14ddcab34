#include "input/training_defaults.h"

namespace dptrain {

// Measured: bench/results/choices.md and length.md. The rate stays, and what the potential has is an average of the weights: a
// session does not know how long it will be, and a training from data sets ends when it no longer gets better.
void set_training_defaults(InputFile &input, bool in_a_run)
{
  TrainingConfig &training = input.training;
  training.optimizer.type = OptimizerType::soap;
  training.schedule.type = ScheduleType::exponential;
  training.schedule.stop_lr_ratio = 1.0;
  input.offline.held_out = 0.1;
  auto &prefactors = training.loss.prefactors;
  prefactors["e"] = {1.0, 1.0};
  prefactors["f"] = {100.0, 100.0};
  prefactors["v"] = {0.1, 0.1};
  if (in_a_run) {
    input.soap_start_lr = 3e-3;
    training.ema_decay = 0.98;
    training.disp_freq = 100;
  } else {
    input.soap_start_lr = 5e-3;
    training.ema_decay = 0.995;
    input.length_follows = true;
    input.offline.change_bias_after_training = true;
    input.offline.training_data.batch_size.number = 128;
  }
}

}  // namespace dptrain
