/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/make_reference.h"

#include "reference/reference_difference.h"
#include "reference/reference_instance.h"
#include "reference/reference_outputs.h"
#include "reference/reference_pair.h"
#include "reference/reference_run.h"
#include "reference/reference_socket.h"
#include "reference/reference_spool.h"

using namespace LAMMPS_NS;

using Source = ReferenceOptions::Source;

MadeReference LAMMPS_NS::make_reference(LAMMPS *lmp, const std::string &fix_id,
                                        const ReferenceOptions &options,
                                        const std::optional<PairOptions> &subtract, bool any_step,
                                        bool cuts, const FoldGhosts &fold, FindSlot find_slot)
{
  MadeReference made;
  auto &reference = made.reference;
  if (options.source == Source::run)
    reference = std::make_unique<ReferenceRun>(lmp, fix_id);
  else if (options.source == Source::values)
    reference = std::make_unique<ReferenceOutputs>(lmp, fix_id, options.values, any_step);
  else if (options.source == Source::socket)
    reference =
        std::make_unique<ReferenceSocket>(lmp, options.socket, fix_id, cuts, std::move(find_slot));
  else if (options.source == Source::spool)
    reference = std::make_unique<ReferenceSpool>(lmp, options.spool, std::move(find_slot));
  else if (cuts)
    reference = std::make_unique<ReferenceInstance>(lmp, options.pair, std::move(find_slot));
  else
    reference = std::make_unique<ReferencePair>(lmp, options.pair, fold);
  if (!subtract) return made;
  auto difference =
      std::make_unique<ReferenceDifference>(lmp, std::move(reference), *subtract, fold);
  made.baseline = &difference->baseline();
  reference = std::move(difference);
  return made;
}
