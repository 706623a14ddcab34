/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_spool.h"

#include <cstdio>

#include "adapter/style_names.h"
#include "domain.h"
#include "error.h"
#include "utils.h"

using namespace LAMMPS_NS;

ReferenceSpool::ReferenceSpool(LAMMPS *lmp, const SpoolOptions &options, FindSlot find_slot) :
    Pointers(lmp), virial_(options.virial), find_slot_(std::move(find_slot))
{
  dptrain::Messages messages = dptrain::no_messages();
  messages.info = [this](const std::string &text) {
    utils::logmesg(this->lmp, "{}: {}\n", FIX_STYLE, text);
    for (FILE *out : {screen, logfile})  // who waits wants to know for what
      if (out) fflush(out);
  };
  messages.warning = [this](const std::string &text) {
    error->warning(FLERR, "{}: {}", FIX_STYLE, text);
    for (FILE *out : {screen, logfile})
      if (out) fflush(out);
  };
  const auto atoms = [this] {
    return dptrain::SpoolAtoms{
        find_slot_().type_map(),
        {domain->xperiodic != 0, domain->yperiodic != 0, domain->zperiodic != 0}};
  };
  dptrain::SpoolOptions spool;
  spool.folder = options.folder;
  spool.timeout = options.timeout;
  spool.virial = options.virial;
  collective(lmp, FIX_STYLE, [&] {
    source_ =
        std::make_unique<dptrain::SpoolSource>(world_communicator(lmp), spool, atoms, messages);
  });
}

void ReferenceSpool::init()
{
  if (!virial_) warn_of_missing_virial(lmp);
}
