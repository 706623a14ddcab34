/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>

#include "reference/reference.h"
#include "reference/reference_options.h"

namespace LAMMPS_NS {

/// What is asked of a reference.
struct ReferenceUse {
  bool any_step = false;  ///< a label may be needed at every step
  bool cuts = false;      ///< the frames are not the atoms of the run, but cut-outs of them
  bool explores = false;  ///< after a run, some are its atoms at other places
  bool atoms = false;     ///< separate atoms, too
};

/// What fix dptrain asks, as its keyword `reference` says. `fix_id`: of the fix that owns it.
std::unique_ptr<Reference> make_reference(LAMMPS *lmp, const std::string &fix_id,
                                          const ReferenceOptions &options, const ReferenceUse &use,
                                          const FoldGhosts &fold, FindSlot find_slot);

}  // namespace LAMMPS_NS
