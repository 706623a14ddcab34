/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include "dptrain/session/learning_options.h"
#include "reference/reference.h"
#include "reference/reference_options.h"

namespace LAMMPS_NS {

/// Asks the reference for the energy of a separate atom of each element of a model that is to be
/// made, and gives them to it; a model that there is stays as it is. To be called after init() of
/// `asked`. Collective.
void take_separate_atoms(LAMMPS *lmp, const ReferenceOptions &options,
                         const dptrain::LearningOptions &learning, Reference &asked,
                         ModelInUse &slot);

}  // namespace LAMMPS_NS
