#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/parallel/device.h"
#include "dptrain/potential/model/model.h"
#include "lmptype.h"
#include "pointers.h"
#include "reference_options.h"

namespace LAMMPS_NS {

/// What the keywords of `fix ID all dptrain ...` say.
struct FixDPTrainOptions {
  std::string input;                            ///< input FILE: DeePMD input.json
  std::string model;                            ///< model FILE El1 El2 ...
  std::vector<std::string> elements;            ///< one per atom type
  std::optional<dptrain::Precision> precision;  ///< of this model: only with `model`
  std::optional<int> knots;                     ///< ditto; 0: auto
  std::optional<bool> native;                   ///< ditto
  std::vector<double> fparam;                   ///< ditto
  ReferenceOptions reference;
  std::optional<PairOptions> subtract;  ///< baseline that the labels are without
  bool active = false;                  ///< mode active: labels where the uncertainty asks
  bigint every = 0;                     ///< 0: 100, or every configuration where they are selected
  double threshold = 0.0;               ///< force units; 0: auto
  double limit = 0.0;                   ///< force units; 0: three thresholds
  bool limit_stops = false;             ///< the run ends there
  double guard_inner = 0.0, guard_outer = 0.0;  ///< ZBL guard of a young model; 0: none
  bigint audit = 1000;                          ///< mean steps between two random labels; 0: none
  int holdout = 10;         ///< one of so many early labels is for validation; 0: none
  double duplicate = 0.05;  ///< frames closer than this in feature space are not stored
  double target = 0.0;  ///< force error at which the training of a label ends, force units; 0: none
  double train_seconds = 0.0;  ///< largest time of the training of a label; 0: any
  bool follow_reference = false;
  int train = 100;                ///< optimizer steps per label
  dptrain::ParameterRules rules;  ///< train only|freeze|rate
  std::optional<int> batch;
  std::int64_t buffer = 0;    ///< frames; 0: all
  std::string optimizer;      ///< empty: as the input says
  std::optional<double> ema;  ///< decay of the average of the weights per step; 0: none
  std::string stat;
  std::int64_t save_every = 0;  ///< optimizer steps
  std::string save, resume, dataset;
  int warmup = 8;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> disp_every;
  std::string disp;
  double force_limit = 0.0;       ///< fmax, LAMMPS units; 0: none
  dptrain::DeviceRequest device;  ///< of this model: only with `model`
  dptrain::ParallelConfig parallel;
  std::optional<double> timeout;  ///< seconds that a rank waits for others; 0: any time
  bool memory_report = true;      ///< a table at the end of each run

  /// mode active with reference run: configurations are selected, and nothing is asked.
  bool selects() const { return active && reference.source == ReferenceOptions::Source::run; }
};

/// Reads the arguments after `fix ID all dptrain`. Errors name the keyword, what was found and what is allowed.
FixDPTrainOptions parse_fix_dptrain(LAMMPS *lmp, int narg, char **arg);

}  // namespace LAMMPS_NS
