/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include "adapter/dptrain_adapter.h"
#include "dptrain/parallel/device.h"
#include "pointers.h"
#include "styles/model_deviation.h"
#include "styles/watch.h"

namespace LAMMPS_NS {

/// What the keywords of `pair_style dptrain` say.
struct PairDPTrainOptions {
  ModelSettings settings;
  DeviationOptions deviation;
  dptrain::DeviceRequest device;
  WatchOptions watch;
  std::string kspace = "auto";  ///< of charges: auto, no, or the words of a kspace_style
};

/// Reads the arguments after `pair_style dptrain`. Errors name the keyword, what was found and what
/// is allowed.
PairDPTrainOptions parse_pair_dptrain(LAMMPS *lmp, int narg, char **arg);

}  // namespace LAMMPS_NS
