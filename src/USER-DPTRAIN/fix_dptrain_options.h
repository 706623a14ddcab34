#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/model.h"
#include "lmptype.h"
#include "pointers.h"

namespace LAMMPS_NS {

/// What the keywords of `fix ID all dptrain ...` say.
struct FixDPTrainOptions {
  enum class Source { none, pair, run };

  std::string input;                            ///< input FILE: DeePMD input.json
  std::string model;                            ///< model FILE El1 El2 ...
  std::vector<std::string> elements;            ///< one per atom type
  std::optional<dptrain::Precision> precision;  ///< of this model: only with `model`
  std::optional<int> knots;                     ///< ditto; 0: auto
  Source reference = Source::none;
  std::string reference_style;                ///< reference pair STYLE
  std::vector<std::string> reference_args;    ///< its pair_style arguments
  std::vector<std::string> reference_coeffs;  ///< its pair_coeff arguments, one text per command
  std::vector<std::string> reference_modify;  ///< its pair_modify arguments, ditto
  bigint every = 100;
  bool follow_reference = false;
  int train = 100;  ///< optimizer steps per label
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
  double force_limit = 0.0;  ///< fmax, LAMMPS units; 0: none
};

/// Reads the arguments after `fix ID all dptrain`. Errors name the keyword, what was found and what is allowed.
FixDPTrainOptions parse_fix_dptrain(LAMMPS *lmp, int narg, char **arg);

}  // namespace LAMMPS_NS
