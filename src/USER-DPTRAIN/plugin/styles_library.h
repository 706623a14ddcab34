/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// dptrain_styles.so, the library with the styles and LibTorch, from the side of the small plugin
// that LAMMPS loads.
#pragma once

#include "adapter/lammps_compat.h"

namespace dptrain {

/// The factory of a style. Opens dptrain_styles.so, beside the file of this function, where it is
/// not open yet. Collective over the ranks of `lmp`: where one of them cannot open it, that rank
/// writes one message to stderr, and all throw LAMMPSException with it, which ends an input and is
/// an exception in Python.
dptrain_factory style_factory(void *lmp, const char *kind, const char *name);

}  // namespace dptrain
