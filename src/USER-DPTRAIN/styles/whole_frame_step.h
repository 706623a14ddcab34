/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>

#include "adapter/dptrain_adapter.h"
#include "dptrain/models/model_in_use.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/evaluator.h"
#include "styles/exclusions.h"

namespace LAMMPS_NS {

/// An MD step of a model whose atoms pass messages, where several ranks divide the atoms: rank 0
/// evaluates the whole frame, and each rank gets what belongs to its atoms. `out` is as for
/// Evaluator::step; sums (energy, virial, features) go to rank 0 alone, forces to owned atoms
/// alone. Collective; throws dptrain::Error on all ranks.
void whole_frame_step(LAMMPS *lmp, const dptrain::Communicator &comm, const ModelInUse &slot,
                      const Exclusions &exclusions, const UnitFactors &units,
                      dptrain::Evaluator &evaluator, dptrain::ForwardOutput &out);

}  // namespace LAMMPS_NS
