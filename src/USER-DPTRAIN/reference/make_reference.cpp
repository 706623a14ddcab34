/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/make_reference.h"

#include "reference/reference_instance.h"
#include "reference/reference_outputs.h"
#include "reference/reference_pair.h"
#include "reference/reference_run.h"
#include "reference/reference_socket.h"
#include "reference/reference_spool.h"

using namespace LAMMPS_NS;

using Source = ReferenceOptions::Source;

std::unique_ptr<Reference> LAMMPS_NS::make_reference(LAMMPS *lmp, const std::string &fix_id,
                                                     const ReferenceOptions &options,
                                                     const ReferenceUse &use,
                                                     const FoldGhosts &fold, FindSlot find_slot)
{
  switch (options.source) {
  case Source::run:
    return std::make_unique<ReferenceRun>(lmp, fix_id);
  case Source::values:
    return std::make_unique<ReferenceOutputs>(lmp, fix_id, options.values, use.any_step);
  case Source::socket:
    return std::make_unique<ReferenceSocket>(lmp, options.socket, fix_id, use.cuts || use.atoms,
                                             std::move(find_slot));
  case Source::spool:
    return std::make_unique<ReferenceSpool>(lmp, options.spool, std::move(find_slot));
  case Source::pair:
  case Source::none:
    break;
  }
  if (use.cuts) return std::make_unique<ReferenceInstance>(lmp, options.pair, std::move(find_slot));
  return std::make_unique<ReferencePair>(lmp, options.pair, fold,
                                         use.explores ? std::move(find_slot) : FindSlot());
}
