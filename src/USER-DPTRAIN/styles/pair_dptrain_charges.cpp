/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// Pair style dptrain with a potential that has charges: where there are many atoms a kspace style
// of LAMMPS has their energy.

#include <cmath>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "styles/pair_dptrain_data.h"

using namespace LAMMPS_NS;

namespace {

// Up to here the library's own sums, whose cost grows with the square of their number, are faster.
constexpr bigint FEW_ATOMS = 500;
constexpr const char *MESH = "pppm";
// Of a force of 14 eV/Angstrom: as that of the library's own sums.
constexpr const char *ACCURACY = "1e-5";

}  // namespace

// Null: the library sums over k itself.
ChargeKSpace *PairDPTrain::Data::mesh(LAMMPS *lmp, const dptrain::Charges &charges)
{
  const bool chooses = kspace == "auto";
  if (kspace == "no" || lmp->domain->nonperiodic) return nullptr;
  // members of a committee have charges of their own, which this object does not know
  if (!committee.empty() || (chooses && lmp->atom->natoms <= FEW_ATOMS)) return nullptr;
  if (chooses && lmp->force->kspace_map->count(MESH) == 0) {
    if (lmp->comm->me == 0 && !warned_of_mesh)
      lmp->error->warning(
          FLERR,
          "{}: {} is not in this LAMMPS, so that charges are sums over all "
          "atoms, which are slow where these are many: build LAMMPS with the package KSPACE",
          PAIR_STYLE, MESH);
    warned_of_mesh = true;
    return nullptr;
  }
  const std::string words = chooses ? fmt::format("{} {}", MESH, ACCURACY) : kspace;
  const double sigma = charges.sigma * units.length;
  if (!far || far->words() != words || far->sigma() != sigma)
    far = std::make_unique<ChargeKSpace>(lmp, fmt::format("{}: charges", PAIR_STYLE), words, sigma);
  return far.get();
}

std::vector<double> PairDPTrain::atom_charges()
{
  const auto charges =
      data_->slot->model() ? data_->slot->model()->charges() : std::optional<dptrain::Charges>();
  std::vector<double> result(atom->nlocal, 0.0);
  if (!charges) return result;
  host_atoms();
  std::vector<double> counts(charges->by_type.size(), 0.0);
  for (int i = 0; i < atom->nlocal; ++i)
    if (const int type = data_->exclusions.model_type_of(i); type >= 0) counts[type] += 1.0;
  data_->comm->all_reduce_sum(counts.data(), counts.size());
  const std::vector<double> by_type = charges->in_frame(counts);
  for (int i = 0; i < atom->nlocal; ++i)
    if (const int type = data_->exclusions.model_type_of(i); type >= 0) result[i] = by_type[type];
  return result;
}

// Whether an evaluation has failed on a rank, which is no error.
bool PairDPTrain::has_failed() const
{
  if (!data_->keeps_failure) return false;
  int failed = data_->failure.empty() ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, world);
  return failed != 0;
}

// Adds the energy of the charges to the results of an evaluation.
void PairDPTrain::add_mesh(ChargeKSpace &mesh, dptrain::ForwardOutput &out)
{
  const auto nlocal = static_cast<std::size_t>(atom->nlocal);
  const UnitFactors &units = data_->units;
  std::vector<double> &charge = data_->charge;
  charge = atom_charges();
  // such that Coulomb's constant is that of the library in any units
  const double unit =
      std::sqrt(dptrain::coulomb_constant * units.energy * units.length / force->qqrd2e);
  for (double &one : charge) one *= unit;
  const auto &found = data_->found;
  const ChargeKSpace::Values &values = mesh.compute(charge, found.atom_energy || found.atom_virial);
  add_to_result(FORCE, values.force, 1.0 / units.force());
  static constexpr int ORDER[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};  // xx yy zz xy xz yz
  if (comm->me == 0) {                                          // the whole system has it once
    out.energy += values.energy / units.energy;
    for (int k = 0; k < 9; ++k) out.virial[k] += values.virial[ORDER[k]] / units.energy;
  }
  if (found.atom_energy) add_to_result(ENERGY, values.atom_energy, 1.0 / units.energy);
  if (!found.atom_virial) return;
  std::vector<double> virials(9 * nlocal);
  for (std::size_t i = 0; i < nlocal; ++i)
    for (int k = 0; k < 9; ++k) virials[9 * i + k] = values.atom_virial[6 * i + ORDER[k]];
  add_to_result(VIRIAL, virials, 1.0 / units.energy);
}

void PairDPTrain::add_to_result(Result result, const std::vector<double> &values, double factor)
{
  for (std::size_t k = 0; k < values.size(); ++k) data_->results[result][k] += factor * values[k];
}
