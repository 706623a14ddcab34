/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/trial_moves.h"

#include <algorithm>
#include <iterator>

#include "fix.h"
#include "lammps.h"
#include "modify.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

// Those of LAMMPS, and of packages that name theirs alike.
static const char *const STYLES[] = {"gcmc", "gemc", "widom", "/swap", "^charge/regulation", "mc$"};

// They move atoms before these are exchanged, and name the step of their next moves when they are
// done.
bool LAMMPS_NS::is_trial_move(const LAMMPS *lmp)
{
  const Modify &modify = *lmp->modify;
  for (int k = 0; k < modify.nfix; ++k) {
    const Fix &fix = *modify.fix[k];
    if (modify.fmask[k] & FixConst::PRE_EXCHANGE && fix.next_reneighbor == lmp->update->ntimestep &&
        std::any_of(std::begin(STYLES), std::end(STYLES),
                    [&](const char *style) { return utils::strmatch(fix.style, style); }))
      return true;
  }
  return false;
}
