#pragma once

#include <memory>
#include <vector>

#include "dptrain/uncertainty/active_learning.h"
#include "dptrain_adapter.h"
#include "energy_jumps.h"
#include "fix_dptrain.h"
#include "fix_dptrain_options.h"
#include "model_slot.h"
#include "nested_pair.h"
#include "pair_dptrain.h"
#include "reference.h"
#include "threshold_watch.h"
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
  const NestedPair *baseline = nullptr;  // of `subtract`, part of the reference
  std::unique_ptr<TrainingSession> session;
  double *fold = nullptr;      // array of the reverse communication in progress
  std::vector<double> change;  // [nall][3] forces, what they become minus what the model has added
  std::vector<double> before;  // [nall][3] eV/Angstrom, what the model has added
  double restarted[RESTART_SIZE] = {};

  // mode active
  std::unique_ptr<dptrain::ActiveLearning> learning;
  std::unique_ptr<NestedPair> guard;  // short-range repulsion beside a young model
  double expected_error = 0.0;        // of the present step, eV/Angstrom
  bool run_open = false;              // a run has begun
  std::int64_t looked_at = 0;         // configurations, where they are selected
  bool model_moves = false;           // at the present step
  double held_out_error = 0.0;        // rmse of the forces, eV/Angstrom
  double found_error = 0.0;           // largest one of an atom at the latest answer, eV/Angstrom
  int learning_generation = 0;        // of the session that `learning` belongs to
  EnergyJumps jumps;                  // eV
  double printed_jumps = 0.0;         // eV, up to the latest line of the log
  ThresholdWatch threshold_watch;
  bool close_atoms_told = false;
  double run_start = 0.0, reference_before = 0.0,
         train_before = 0.0;  // seconds, at the start of the run
  bigint first_step = 0, calls_before = 0;
};

}  // namespace LAMMPS_NS
