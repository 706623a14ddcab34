/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "adapter/dptrain_adapter.h"
#include "pointers.h"
#include "styles/model_deviation.h"
#include "styles/watch.h"

namespace LAMMPS_NS {

/// What pair style dptrain keeps in a restart file. The parameters stay in their own file; the hash
/// tells whether the same ones come back.
struct RestartData {
  ModelSettings settings;
  std::uint64_t hash = 0;  ///< ModelInUse::hash()
  std::string path, elements;
  DeviationOptions deviation;
  WatchOptions watch;
  std::string kspace;
};

/// To be called on rank 0.
void write_restart_data(FILE *file, const RestartData &data);
/// Collective. Ends LAMMPS with a message, which begins with `who`, if the data are of another
/// version or damaged.
RestartData read_restart_data(LAMMPS *lmp, const std::string &who, FILE *file);

}  // namespace LAMMPS_NS
