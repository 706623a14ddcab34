/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>

#include "dptrain/parallel/device.h"
#include "dptrain/potential/model/model.h"
#include "pointers.h"

namespace LAMMPS_NS {

/// Values of the keywords that pair style and fix have in common. `who` begins the message of an
/// error, which names what was found and what is allowed; `who` is such as "Pair style dptrain".

/// double, single or mixed.
dptrain::Precision read_precision(LAMMPS *lmp, const std::string &who, const std::string &value);
/// auto or a number from 8; auto gives 0.
int read_knots(LAMMPS *lmp, const std::string &who, const std::string &value);
/// auto, cpu or cuda:K.
dptrain::DeviceRequest read_device(LAMMPS *lmp, const std::string &who, const std::string &value);
/// auto or a number of atoms from 1; auto gives 0.
int read_chunk(LAMMPS *lmp, const std::string &who, const std::string &value);

}  // namespace LAMMPS_NS
