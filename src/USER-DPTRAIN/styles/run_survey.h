/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>

#include "adapter/dptrain_adapter.h"
#include "dptrain/session/trajectory.h"

namespace LAMMPS_NS {

/// The atoms of all ranks after they have moved, at the hook `post_integrate` of a step.
struct RunSurvey {
  dptrain::RunCondition condition;  ///< kinetic energy and volume
  std::string damage;  ///< why LAMMPS or the model could not go on from here; empty: they can
};
/// `natoms`: how many there should be. The same on all ranks; collective.
RunSurvey survey_run(LAMMPS *lmp, const UnitFactors &units, bigint natoms);

/// Smallest distance of two atoms of a neighbor list, in Angstrom; 0: there are no pairs. The same
/// on all ranks; collective.
double closest_pair(LAMMPS *lmp, const UnitFactors &units, const class NeighList &list);

}  // namespace LAMMPS_NS
