/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_socket.h"

#include <array>
#include <cstdio>

#include "adapter/style_names.h"
#include "comm.h"
#include "domain.h"
#include "universe.h"
#include "utils.h"

using namespace LAMMPS_NS;

ReferenceSocket::ReferenceSocket(LAMMPS *lmp, const SocketOptions &options,
                                 const std::string &fix_id, bool others, FindSlot find_slot) :
    Pointers(lmp),
    options_(options),
    structure_path_(
        fix_id + (lmp->universe->nworlds > 1 ? fmt::format(".{}", lmp->universe->iworld + 1) : "") +
        ".init.xyz"),
    others_(others),
    find_slot_(std::move(find_slot))
{
  const auto log = [this](const std::string &text) {
    utils::logmesg(this->lmp, "{}: {}\n", FIX_STYLE, text);
    for (FILE *out : {screen, logfile})  // who waits wants to know for whom
      if (out) fflush(out);
  };
  dptrain::LabelServerOptions server;
  server.address = options_.address;
  server.timeout = options_.timeout;
  server.wait = options_.wait;
  server.retries = options_.retries;
  server.virial = options_.virial;
  collective(lmp, FIX_STYLE, [&] {
    source_ = std::make_unique<dptrain::SocketSource>(world_communicator(lmp), server, log);
  });
}

void ReferenceSocket::init()
{
  if (!options_.virial) warn_of_missing_virial(lmp);
  const dptrain::ModelInUse &slot = find_slot_();
  const dptrain::WholeFrame frame =
      gather_atoms(lmp, slot.model_type(), slot.cutoff(), unit_factors(lmp, FIX_STYLE));
  const std::array<bool, 3> periodic = {domain->xperiodic != 0, domain->yperiodic != 0,
                                        domain->zperiodic != 0};
  if (others_) source_->name_types(slot.type_map(), periodic);
  collective(lmp, FIX_STYLE, [&] {
    dptrain::guarded(*world_communicator(lmp), [&] {
      if (comm->me == 0)
        dptrain::write_structure(structure_path_, frame, slot.type_map(), periodic);
    });
  });
}
