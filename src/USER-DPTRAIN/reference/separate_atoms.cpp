/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/separate_atoms.h"

#include <optional>
#include <string>

#include "adapter/style_names.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/labels/separate_atoms.h"
#include "dptrain/session/run/learning_session.h"
#include "lammps.h"
#include "reference/reference_instance.h"
#include "utils.h"

using namespace LAMMPS_NS;

void LAMMPS_NS::take_separate_atoms(LAMMPS *lmp, const ReferenceOptions &options,
                                    const dptrain::LearningOptions &learning, Reference &asked,
                                    ModelInUse &slot)
{
  const auto say = [lmp](const std::string &text) {
    if (lmp->comm->me == 0) utils::logmesg(lmp, "{}: {}\n", FIX_STYLE, text);
  };
  const auto comm = world_communicator(lmp);
  const bool is_new = collective(
      lmp, FIX_STYLE, [&] { return dptrain::LearningSession::begins_anew(*comm, slot, learning); });
  if (!is_new) return say("atoms: only a new potential takes energies of separate atoms");
  const std::vector<std::string> &elements = slot.type_map();
  say(fmt::format("the reference is asked for {} separate atoms", elements.size()));
  std::optional<InstanceSource> own;  // `reference pair` itself computes the atoms of this run
  if (options.source == ReferenceOptions::Source::pair)
    own.emplace(lmp, options.pair, [&]() -> const ModelInUse & { return slot; });
  dptrain::LabelSource &source = own ? *own : asked.source();
  const Domain *domain = lmp->domain;
  const bool periodic =
      !own && (domain->xperiodic != 0 || domain->yperiodic != 0 || domain->zperiodic != 0);
  const std::vector<double> energies = collective(
      lmp, FIX_STYLE, [&] { return dptrain::ask_for_separate_atoms(source, elements, periodic); });
  std::string text;
  for (std::size_t t = 0; t < elements.size(); ++t)
    text += fmt::format(" {} {:.8g}", elements[t], energies[t]);
  say("energies of separate atoms (eV):" + text);
  slot.set_atom_energies(energies);
}
