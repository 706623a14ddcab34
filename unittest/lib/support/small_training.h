#pragma once

#include "dptrain/input/config.h"

namespace dptrain::test {

/// A training with energies, forces and virials in the loss, at weights that do not change.
inline TrainingConfig small_training(int batch_size)
{
  TrainingConfig config;
  config.loss.start_pref_e = config.loss.limit_pref_e = 0.7;
  config.loss.start_pref_f = config.loss.limit_pref_f = 30.0;
  config.loss.start_pref_v = config.loss.limit_pref_v = 0.2;
  config.batch_size = batch_size;
  return config;
}

}  // namespace dptrain::test
