/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// Pair style dptrain with a potential that has charges: where there are many atoms a kspace style
// of LAMMPS has their energy.

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "neighbor.h"
#include "styles/pair_dptrain_data.h"
#include "update.h"

using namespace LAMMPS_NS;

namespace {

// Up to here the library's own sums, whose cost grows with the square of their number, are faster.
constexpr bigint FEW_ATOMS = 250;
constexpr const char *MESH = "pppm";
// As that of the sums of the library: 1e-5 costs twice as much.
constexpr const char *ACCURACY = "1e-4";

}  // namespace

// Null: the library sums over k itself.
ChargeKSpace *PairDPTrain::Data::mesh(LAMMPS *lmp, const dptrain::Charges &charges)
{
  const bool chooses = kspace == "auto";
  const Domain &domain = *lmp->domain;
  const bool has_style = !chooses || lmp->force->kspace_map->count(MESH) > 0;
  // members of a committee have charges of their own, which this object does not know
  const bool can = kspace != "no" && committee.empty() && has_style;
  const double total = charges.total.value_or(slot->settings().total.value_or(0.0));
  if (domain.nonperiodic) {
    const bool is_slab = domain.xperiodic && domain.yperiodic && domain.boundary[2][0] == 1 &&
                         domain.boundary[2][1] == 1;
    if (!can || !is_slab || domain.triclinic || total != 0.0)
      lmp->error->all(
          FLERR,
          "{}: the charges of {} act through all periodic cells: use a box that is "
          "periodic in all directions, with vacuum around what is not, or for a neutral "
          "slab an orthogonal one with boundary p p f, kspace auto, no committee and the package "
          "KSPACE",
          PAIR_STYLE, slot->path());
  } else if (!can || (chooses && lmp->atom->natoms <= FEW_ATOMS)) {
    if (!has_style && lmp->atom->natoms > FEW_ATOMS && lmp->comm->me == 0 && !warned_of_mesh)
      lmp->error->warning(
          FLERR,
          "{}: {} is not in this LAMMPS, so that charges are sums over all "
          "atoms, which are slow where these are many: build LAMMPS with the package KSPACE",
          PAIR_STYLE, MESH);
    warned_of_mesh = warned_of_mesh || !has_style;
    return nullptr;
  }
  const std::string words = chooses ? fmt::format("{} {}", MESH, ACCURACY) : kspace;
  if (!kspace_of_charges || kspace_of_charges->words() != words ||
      kspace_of_charges->sigma() != charges.sigma)
    kspace_of_charges = std::make_unique<ChargeKSpace>(lmp, fmt::format("{}: charges", PAIR_STYLE),
                                                       words, charges.sigma, units);
  return kspace_of_charges.get();
}

// The keyword total is for charges that leave it to the data, or says what the model has.
void PairDPTrain::check_total()
{
  const ModelInUse &slot = *data_->slot;
  const std::optional<double> total = slot.settings().total, own = slot.total_charge();
  if (!total) return;
  if (!slot.has_charges() && *total != 0.0)
    error->all(FLERR,
               "Pair style dptrain: total {}: {} has no charges: remove the keyword, or give a new "
               "model some with fix dptrain (charges environment, or of each element)",
               *total, slot.path());
  if (own && *own != *total)
    error->all(
        FLERR,
        "Pair style dptrain: total {}: the charges of {} have the total {}: remove the keyword",
        *total, slot.path(), *own);
}

std::vector<double> PairDPTrain::atom_charges()
{
  const auto nlocal = static_cast<std::size_t>(atom->nlocal);
  const auto &found = data_->found;
  if (!found.charges) return std::vector<double>(nlocal, 0.0);
  // dynamic groups are made before the forces of a step, with atoms in the order that they had
  const bigint step = update->ntimestep;
  need_same_atoms(found.step == step || (found.step == step - 1 && neighbor->lastcall != step),
                  "charges");
  const double *charges = host_result(CHARGE);
  return {charges, charges + nlocal};
}
