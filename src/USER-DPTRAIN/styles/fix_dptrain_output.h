/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include "adapter/dptrain_adapter.h"
#include "dptrain/session/run/learning_session.h"
#include "styles/run_trajectory.h"

namespace LAMMPS_NS {

constexpr int NUM_FIX_OUTPUTS = 30;  ///< of the global vector of fix dptrain

/// Number n (from 0) of this vector, in LAMMPS units; fix_dptrain_output.cpp lists them.
double fix_dptrain_output(int n, const dptrain::LearningSession &session, const RunTrajectory &run,
                          const UnitFactors &units);

}  // namespace LAMMPS_NS
