#pragma once

#include "dptrain/input/config.h"

namespace dptrain::test {

/// A training with energies, forces and virials in the loss, at weights that do not change.
inline TrainingConfig small_training(int batch_size)
{
  TrainingConfig config;
  config.loss.prefactors["e"] = {0.7, 0.7};
  config.loss.prefactors["f"] = {30.0, 30.0};
  config.loss.prefactors["v"] = {0.2, 0.2};
  config.batch_size = batch_size;
  return config;
}

}  // namespace dptrain::test
