#pragma once

#include <memory>
#include <vector>

#include "dptrain_adapter.h"
#include "fix_dptrain.h"
#include "fix_dptrain_options.h"
#include "model_slot.h"
#include "pair_dptrain.h"
#include "reference.h"
#include "training_session.h"

namespace LAMMPS_NS {

/// What the fix holds; its header is read by LAMMPS and stays free of the library's types.
struct FixDPTrain::Data {
  static constexpr int RESTART_SIZE = 4;

  FixDPTrainOptions options;
  UnitFactors units;
  std::shared_ptr<const dptrain::Communicator> comm;
  std::shared_ptr<ModelSlot> slot;
  PairDPTrain *pair =
      nullptr;  // the pair style that runs the model; null: only labels are collected from the run
  std::unique_ptr<Reference> reference;
  std::unique_ptr<TrainingSession> session;
  double *fold = nullptr;      // array of the reverse communication in progress
  std::vector<double> change;  // [nall][3] forces, reference minus model
  double restarted[RESTART_SIZE] = {};
};

}  // namespace LAMMPS_NS
