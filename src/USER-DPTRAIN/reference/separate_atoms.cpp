/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/separate_atoms.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapter/style_names.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/labels/separate_atoms.h"
#include "lammps.h"
#include "reference/reference_instance.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

// Energies of these types of the model.
std::vector<double> ask(LAMMPS *lmp, const ReferenceOptions &options, Reference &asked,
                        const ModelInUse &slot, const std::vector<int> &types)
{
  std::optional<InstanceSource> own;  // `reference pair` itself computes the atoms of this run
  if (options.source == ReferenceOptions::Source::pair)
    own.emplace(lmp, options.pair, [&]() -> const ModelInUse & { return slot; });
  dptrain::LabelSource &source = own ? *own : asked.source();
  const Domain *domain = lmp->domain;
  const bool periodic =
      !own && (domain->xperiodic != 0 || domain->yperiodic != 0 || domain->zperiodic != 0);
  return dptrain::ask_for_separate_atoms(source, types, slot.type_map(), periodic);
}

}  // namespace

void LAMMPS_NS::take_separate_atoms(LAMMPS *lmp, const ReferenceOptions &options, Reference &asked,
                                    bool is_new, ModelInUse &slot,
                                    std::map<std::string, double> &known)
{
  const auto say = [lmp](const std::string &text) {
    if (lmp->comm->me == 0) utils::logmesg(lmp, "{}: {}\n", FIX_STYLE, text);
  };
  if (!is_new) return say("atoms: only a new potential takes energies of separate atoms");
  const auto &given = slot.input()->model.atom_ener;
  const std::vector<int> &model_type = slot.model_type();
  std::vector<int> open, unknown;  // types of the model
  for (const int type : std::set<int>(model_type.begin() + 1, model_type.end())) {
    if (type < 0 || (!given.empty() && given[type])) continue;
    open.push_back(type);
    if (known.count(slot.type_map()[type]) == 0) unknown.push_back(type);
  }
  if (!unknown.empty()) {
    say(fmt::format("the reference is asked for {} separate atoms", unknown.size()));
    const std::vector<double> energies = ask(lmp, options, asked, slot, unknown);
    for (std::size_t k = 0; k < unknown.size(); ++k)
      known[slot.type_map()[unknown[k]]] = energies[k];
  }
  std::string text;
  for (const int type : open) {
    const std::string &element = slot.type_map()[type];
    slot.set_atom_energy(type, known.at(element));
    text += fmt::format(" {} {:.8g}", element, known.at(element));
  }
  say("energies of separate atoms (eV):" + (open.empty() ? " those of the input" : text));
}
