/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/parallel/device.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/session/learning_options.h"
#include "pointers.h"
#include "reference/reference_options.h"

namespace LAMMPS_NS {

/// What the keywords of `fix ID all dptrain ...` say.
struct FixDPTrainOptions {
  std::string model;                            ///< model FILE El1 El2 ...
  std::vector<std::string> elements;            ///< one per atom type
  std::optional<dptrain::Precision> precision;  ///< of this model: only with `model`
  std::optional<int> knots;                     ///< ditto; 0: auto
  std::optional<bool> native;                   ///< ditto
  std::vector<double> fparam;                   ///< ditto
  ReferenceOptions reference;
  std::optional<PairOptions> baseline;  ///< of a new model
  bool atoms = false;  ///< a new model has the energies of separate atoms of the reference
  dptrain::LearningOptions learning;
  dptrain::DeviceRequest device;  ///< of this model: only with `model`
  std::optional<double> timeout;  ///< seconds that a rank waits for others; 0: any time
  bool share = false;             ///< the partitions train one model together
  bool memory_report = true;      ///< a table at the end of each run
};

/// Reads the arguments after `fix ID all dptrain`. Errors name the keyword, what was found and what
/// is allowed.
FixDPTrainOptions parse_fix_dptrain(LAMMPS *lmp, int narg, char **arg);

}  // namespace LAMMPS_NS
