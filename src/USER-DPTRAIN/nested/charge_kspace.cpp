/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/charge_kspace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "atom.h"
#include "domain.h"
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
                           double sigma) :
    Pointers(lmp), words_(words), sigma_(sigma)
{
  constexpr double reach = 3.0;  // the cutoff goes into an estimate of errors alone
  pair_ = std::make_unique<NoPairs>(lmp, reach * sigma);
  PairOptions options;
  options.kspace = words;
  options.kspace_modify = {fmt::format("gewald {:.17g}", std::sqrt(0.5) / sigma)};
  kspace_ = std::make_unique<NestedKSpace>(lmp, who, options);
}

ChargeKSpace::~ChargeKSpace() = default;

const ChargeKSpace::Values &ChargeKSpace::compute(std::vector<double> &charge, bool by_atom)
{
  const auto nlocal = static_cast<std::size_t>(atom->nlocal);
  Values &values = values_;
  values.energy = 0.0;
  values.virial = {};
  // one atom more: styles take the address of the first one
  values.force.assign(3 * (nlocal + 1), 0.0);
  charge.resize(nlocal + 1, 0.0);
  rows_.resize(nlocal + 1);
  for (std::size_t i = 0; i <= nlocal; ++i) rows_[i] = values.force.data() + 3 * i;
  const AtomSwap atoms(atom, charge.data(), rows_.data());
  const ForceSwap styles(force, pair_.get(), "dptrain/charges", kspace_->style(),
                         kspace_->style_name());
  if (!set_up_) {
    kspace_->init();
    kspace_->setup();
    set_up_ = true;
  }
  const int flags = by_atom ? ENERGY_ATOM | ENERGY_GLOBAL : ENERGY_GLOBAL;
  const int virial_flags = by_atom ? VIRIAL_ATOM | VIRIAL_PAIR : VIRIAL_PAIR;
  const bool computed = kspace_->compute(flags, virial_flags);
  values.force.resize(3 * nlocal);
  charge.resize(nlocal);
  values.atom_energy.assign(by_atom ? nlocal : 0, 0.0);
  values.atom_virial.assign(by_atom ? 6 * nlocal : 0, 0.0);
  if (!computed) return values;
  const KSpace &kspace = *kspace_->style();
  // styles give a charged system a term for its background, which their virial does not have
  double total = std::accumulate(charge.begin(), charge.end(), 0.0);
  MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, world);
  const double volume = domain->xprd * domain->yprd * domain->zprd;
  const double background = force->qqrd2e * std::numbers::pi * sigma_ * sigma_ * total / volume;
  values.energy = kspace.energy + background * total;
  std::copy(kspace.virial, kspace.virial + 6, values.virial.begin());
  if (!by_atom) return values;
  for (std::size_t i = 0; i < nlocal; ++i)
    values.atom_energy[i] = kspace.eatom[i] + background * charge[i];
  for (std::size_t i = 0; i < nlocal; ++i)
    std::copy(kspace.vatom[i], kspace.vatom[i] + 6, values.atom_virial.begin() + 6 * i);
  return values;
}

double ChargeKSpace::memory_usage() const
{
  return kspace_->memory_usage() +
         static_cast<double>((values_.force.capacity() + values_.atom_energy.capacity() +
                              values_.atom_virial.capacity() + rows_.capacity()) *
                             sizeof(double));
}
