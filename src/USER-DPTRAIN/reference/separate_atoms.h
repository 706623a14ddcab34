/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <map>
#include <string>

#include "reference/reference.h"
#include "reference/reference_options.h"

namespace LAMMPS_NS {

/// Gives a model that is to be made the energies of separate atoms of the elements of this run, for
/// which its input has none: asked of the reference, or among `known`, in eV by element, to which
/// what is asked is added. Does nothing where the model is not new. To be called after init() of
/// `asked`. Collective; throws dptrain::Error.
void take_separate_atoms(LAMMPS *lmp, const ReferenceOptions &options, Reference &asked,
                         bool is_new, ModelInUse &slot, std::map<std::string, double> &known);

}  // namespace LAMMPS_NS
