/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/charge_kspace.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "dptrain/base/error.h"
#include "dptrain/potential/model/charges.h"
#include "force.h"
#include "kspace.h"
#include "nested/force_swap.h"
#include "pair.h"

using namespace LAMMPS_NS;

namespace {

// Where kspace styles look for the pair style that computes what is left of the sum in real space:
// nothing is.
class NoPairs : public Pair {
 public:
  NoPairs(LAMMPS *lmp, double cutoff) : Pair(lmp), cutoff_(cutoff) { ewaldflag = pppmflag = 1; }
  void compute(int, int) override {}
  void settings(int, char **) override {}
  void coeff(int, char **) override {}
  void *extract(const char *name, int &dimension) override
  {
    dimension = 0;
    return strcmp(name, "cut_coul") == 0 ? &cutoff_ : nullptr;
  }

 private:
  double cutoff_;
};

// While it lives, atoms have these charges and forces.
class AtomSwap {
 public:
  AtomSwap(Atom *atom, double *charge, double **force) :
      atom_(atom), charge_(atom->q), force_(atom->f), flag_(atom->q_flag)
  {
    atom->q = charge;
    atom->f = force;
    atom->q_flag = 1;
  }
  ~AtomSwap()
  {
    atom_->q = charge_;
    atom_->f = force_;
    atom_->q_flag = flag_;
  }
  AtomSwap(const AtomSwap &) = delete;
  AtomSwap &operator=(const AtomSwap &) = delete;

 private:
  Atom *atom_;
  double *charge_, **force_;
  int flag_;
};

}  // namespace

ChargeKSpace::ChargeKSpace(LAMMPS *lmp, const std::string &who, const std::string &words,
                           double sigma, const dptrain::UnitFactors &units) :
    Pointers(lmp), words_(words), sigma_(sigma), units_(units)
{
  constexpr double reach = 3.0;  // the cutoff goes into an estimate of errors alone
  pair_ = std::make_unique<NoPairs>(lmp, reach * sigma * units.length);
  PairOptions options;
  options.kspace = words;
  options.kspace_modify = {fmt::format("gewald {:.17g}", std::sqrt(0.5) / (sigma * units.length))};
  if (domain->zperiodic == 0) options.kspace_modify.emplace_back("slab 3.0");
  kspace_ = std::make_unique<NestedKSpace>(lmp, who, options);
}

ChargeKSpace::~ChargeKSpace() = default;

dptrain::ChargeEnergy ChargeKSpace::compute(const std::vector<double> &charge,
                                            const dptrain::ChargeRequest &request)
{
  const auto nlocal = static_cast<std::size_t>(atom->nlocal);
  dptrain::ChargeEnergy result;
  result.force.assign(3 * nlocal, 0.0);
  if (request.potential) result.potential.assign(nlocal, 0.0);
  if (request.virials) result.virials.assign(9 * nlocal, 0.0);
  // such that Coulomb's constant is that of the library in any units
  const double unit =
      std::sqrt(dptrain::coulomb_constant * units_.energy * units_.length / force->qqrd2e);
  // potentials are energies of atoms by charge: one of zero is too small to count
  constexpr double least = 1e-30;
  charge_.resize(nlocal);
  for (std::size_t i = 0; i < nlocal; ++i)
    charge_[i] = unit * (charge[i] == 0.0 ? least : charge[i]);
  // one atom more: styles take the address of the first one
  force_.assign(3 * (nlocal + 1), 0.0);
  charge_.push_back(0.0);
  rows_.resize(nlocal + 1);
  for (std::size_t i = 0; i <= nlocal; ++i) rows_[i] = force_.data() + 3 * i;
  const AtomSwap atoms(atom, charge_.data(), rows_.data());
  const ForceSwap styles(force, pair_.get(), "dptrain/charges", kspace_->style(),
                         kspace_->style_name());
  double sums[2] = {};  // of charges, and of their squares
  for (std::size_t i = 0; i < nlocal; ++i) {
    sums[0] += charge_[i];
    sums[1] += charge_[i] * charge_[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, world);
  // the accuracy is that of the charges at a setup; those that depend on their surroundings grow
  constexpr double growth = 2.0;
  if (sums[1] == 0.0) return result;  // there are no atoms
  if (!std::isfinite(sums[1]))
    throw dptrain::Error("The charges of the model are not finite: the parameters of the model are "
                         "broken; check the start configuration and the model");
  if (sums[1] > growth * squares_) {
    kspace_->init();
    kspace_->setup();
    squares_ = sums[1];
  }
  const int flags = request.potential ? ENERGY_ATOM | ENERGY_GLOBAL : ENERGY_GLOBAL;
  const int virial_flags = request.virials ? VIRIAL_ATOM | VIRIAL_PAIR : VIRIAL_PAIR;
  const bool computed = kspace_->compute(flags, virial_flags);
  if (!computed) return result;
  const KSpace &kspace = *kspace_->style();
  // styles give a charged system a term for its background, which their virial does not have
  const double height = domain->zperiodic ? domain->zprd : domain->zprd * kspace.slab_volfactor;
  const double volume = domain->xprd * domain->yprd * height;
  const double sigma = sigma_ * units_.length;
  const double background = force->qqrd2e * std::numbers::pi * sigma * sigma * sums[0] / volume;
  static constexpr int ORDER[9] = {0, 3, 4, 3, 1, 5, 4, 5, 2};  // xx yy zz xy xz yz
  if (comm->me == 0) {                                          // they are those of all ranks
    result.energy = (kspace.energy + background * sums[0]) / units_.energy;
    for (int k = 0; k < 9; ++k) result.virial[k] = kspace.virial[ORDER[k]] / units_.energy;
  }
  for (std::size_t k = 0; k < result.force.size(); ++k)
    result.force[k] = force_[k] / units_.force();
  for (std::size_t i = 0; i < result.potential.size(); ++i)
    result.potential[i] = 2.0 * unit * (kspace.eatom[i] / charge_[i] + background) / units_.energy;
  for (std::size_t i = 0; request.virials && i < nlocal; ++i)
    for (int k = 0; k < 9; ++k)
      result.virials[9 * i + k] = kspace.vatom[i][ORDER[k]] / units_.energy;
  if (!domain->zperiodic) add_slab_virial(volume, result);
  return result;
}

// The energy of the correction for slabs, 2 pi P^2 / V with the dipole P along z, is in what styles
// give, its virial is not.
void ChargeKSpace::add_slab_virial(double volume, dptrain::ChargeEnergy &result) const
{
  double dipole = 0.0;
  for (int i = 0; i < atom->nlocal; ++i) dipole += charge_[i] * atom->x[i][2];
  MPI_Allreduce(MPI_IN_PLACE, &dipole, 1, MPI_DOUBLE, MPI_SUM, world);
  const double field = 2.0 * std::numbers::pi * force->qqrd2e * dipole / volume / units_.energy;
  const auto add = [](double energy, double *virial) {
    virial[0] += energy;
    virial[4] += energy;
    virial[8] -= energy;
  };
  if (comm->me == 0) add(field * dipole, result.virial.data());
  for (std::size_t i = 0; 9 * i < result.virials.size(); ++i)
    add(field * charge_[i] * atom->x[i][2], &result.virials[9 * i]);
}

double ChargeKSpace::memory_usage() const
{
  return kspace_->memory_usage() +
         static_cast<double>((charge_.capacity() + force_.capacity() + rows_.capacity()) *
                             sizeof(double));
}
