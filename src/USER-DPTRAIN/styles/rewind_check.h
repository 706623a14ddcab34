/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include "pointers.h"

namespace LAMMPS_NS {

/// At the beginning of a run that may go back to states of its own (`rewind` of fix dptrain): an
/// error that names the fix, atom style or package that could not. Returns the ids and styles of
/// fixes that may remember something and have no restart data: what they remember does not go back.
std::string check_rewind(LAMMPS *lmp);

}  // namespace LAMMPS_NS
