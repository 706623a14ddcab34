/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/charge_kspace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
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

// Spacing of a mesh, in units of 1/g, whose error of the forces of charges in bulk matter is
// `accuracy` times the force of two unit charges at 1 Angstrom: Deserno and Holm, J. Chem. Phys.
// 109, 7694 (1998), equation 38 with charges that are assigned to 5 points along each axis. g: in
// 1/Angstrom, square: mean square of the charges, density: in 1/Angstrom^3.
double mesh_spacing(double accuracy, double g, double square, double density)
{
  constexpr double terms[] = {1.0 / 23232.0, 7601.0 / 13628160.0, 143.0 / 69120.0,
                              517231.0 / 106536960.0, 106640677.0 / 11737571328.0};
  constexpr int order = std::size(terms);
  const auto error = [&](double x) {
    double sum = 0.0;
    for (int m = order - 1; m >= 0; --m) sum = sum * x * x + terms[m];
    return square * std::pow(x, order) *
           std::sqrt(g * std::sqrt(2.0 * std::numbers::pi) * sum * density);
  };
  double low = 0.0, high = 1.0;  // beyond, the expansion ends
  for (int k = 0; k < 40; ++k)
    (error(0.5 * (low + high)) < accuracy ? low : high) = 0.5 * (low + high);
  return high;
}

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
  const bool has_grown = sums[1] > growth * squares_;
  if (choose_mesh(has_grown ? sums[1] / (unit * unit) : 0.0) || has_grown) {
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

// PPPM chooses a mesh along each axis as if the atoms filled a cube of this length, and makes it
// too coarse along a long one, and where there is vacuum. Here the spacing is that of dense matter,
// everywhere. `squares`: the sum of those of the charges, 0: the spacing stays, and the mesh where
// the box has not grown. Returns whether there is another mesh.
bool ChargeKSpace::choose_mesh(double squares)
{
  if (kspace_->style_name().compare(0, 4, "pppm") != 0) return false;
  const double length = units_.length;
  const KSpace &kspace = *kspace_->style();
  const double edge[3] = {domain->xprd, std::hypot(domain->yprd, domain->xy),
                          std::hypot(domain->zprd, domain->xz, domain->yz) *
                              (domain->zperiodic ? 1.0 : kspace.slab_volfactor)};
  const auto atoms = static_cast<double>(atom->natoms);
  if (squares > 0.0) {
    constexpr double dense = 0.05;  // atoms per cubic Angstrom: salts have 0.04, oxides 0.1
    const double volume = domain->xprd * domain->yprd * domain->zprd / (length * length * length);
    const double g = std::sqrt(0.5) / sigma_;
    spacing_ =
        length / g *
        mesh_spacing(kspace.accuracy_relative, g, squares / atoms, std::max(dense, atoms / volume));
  }
  constexpr double growth = 1.1;  // of a box
  bool changes = squares > 0.0;
  for (int k = 0; k < 3; ++k) changes = changes || edge[k] > growth * spacing_ * mesh_[k];
  if (!changes) return false;
  std::string words = "mesh";
  for (int k = 0; k < 3; ++k) {
    mesh_[k] = std::max(2, static_cast<int>(std::ceil(edge[k] / spacing_)));
    words += fmt::format(" {}", mesh_[k]);
  }
  kspace_->modify(words);
  return true;
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
