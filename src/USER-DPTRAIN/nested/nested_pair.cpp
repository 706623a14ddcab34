/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/nested_pair.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "adapter/lammps_compat.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "kspace.h"
#include "neighbor.h"
#include "nested/force_swap.h"
#include "pair.h"
#include "utils.h"

using namespace LAMMPS_NS;

NestedPair::NestedPair(LAMMPS *lmp, const std::string &who, const PairOptions &options,
                       FoldGhosts fold) :
    Pointers(lmp), set_(lmp, who, options), ghosts_(GhostCutoff::of(lmp)), fold_(std::move(fold))
{
  find_long_range();
  if (options.kspace.empty() && !options.kspace_modify.empty())
    error->all(FLERR, "{}: kspace_modify needs kspace \"STYLE ACCURACY\"", set_.name());
  if (long_range_ && options.kspace.empty())
    error->all(FLERR, "{}: {} needs a kspace style: add kspace \"STYLE ACCURACY\" before end",
               set_.name(), long_range_->name);
  if (options.kspace.empty()) return;
  if (!long_range_)
    error->all(FLERR,
               "{}: kspace \"{}\" has no use: no style of it has a long-range part; remove it",
               set_.name(), options.kspace);
  kspace_ = std::make_unique<NestedKSpace>(lmp, set_.name(), options);
}

NestedPair::~NestedPair()
{
  ghosts_->need(this, 0.0);
}

// Dispersion and TIP4P first: their kspace styles ask the pair style for more than the Coulomb
// cutoff.
void NestedPair::find_long_range()
{
  double cutoff = -1.0;
  for (PairSet::Part &part : set_.parts()) {
    const Pair &pair = *part.pair;
    const bool special = pair.dispersionflag || pair.tip4pflag;
    if (!special && !pair.ewaldflag && !pair.pppmflag && !pair.msmflag && !pair.dipoleflag &&
        !pair.spinflag)
      continue;
    int dimension = 0;
    const void *own = part.pair->extract("cut_coul", dimension);
    if (own && cutoff >= 0.0 && cutoff != *static_cast<const double *>(own))
      error->all(FLERR, "{}: the Coulomb cutoffs of its long-range styles must be the same",
                 set_.name());
    if (own) cutoff = *static_cast<const double *>(own);
    if (!long_range_ || special) long_range_ = &part;
  }
}

// For styles that look each other up, each part is the pair style of the run.
ForceSwap NestedPair::swap_in(const PairSet::Part &part) const
{
  return ForceSwap(force, part.pair.get(), part.name, kspace_ ? kspace_->style() : nullptr,
                   kspace_ ? kspace_->style_name() : "none");
}

void NestedPair::init()
{
  // rerun initializes fixes for every frame, but the run's pair style and neighbor lists once
  const bool run_asks = !neighbor->get_pair_requests().empty();
  if (force->pair && run_asked_ && !run_asks) return;
  run_asked_ = run_asks;
  if (neighbor->find_request(set_.parts()[0].pair.get())) return;
  check_special_bonds();
  const auto run = [this](PairSet::Part &part, const auto &initialize) {
    const ForceSwap swap = swap_in(part);
    const int first = neighbor->nrequest;
    initialize();
    part.requests.insert(part.requests.end(), neighbor->requests + first,
                         neighbor->requests + neighbor->nrequest);
  };
  for (PairSet::Part &part : set_.parts()) part.requests.clear();
  // first, because pair styles take the splitting from it; some initialize their pair style, too
  if (kspace_) run(*long_range_, [this] { kspace_->init(); });
  for (PairSet::Part &part : set_.parts()) run(part, [&] { set_.init(part); });
  set_up_ = false;
}

// Long-range styles without kspace: they subtract what excluded pairs have in the sum.
static const char *const ALL_PAIRS[] = {"coul/wolf", "coul/dsf", "coul/exclude", "thole"};

// LAMMPS keeps pairs with special_bonds factors of zero in its lists where the run's own styles
// need them.
void NestedPair::check_special_bonds() const
{
  if (atom->molecular == Atom::ATOMIC || force->kspace) return;
  for (const PairSet::Part &part : set_.parts()) {
    const bool needs_all_pairs =
        std::any_of(std::begin(ALL_PAIRS), std::end(ALL_PAIRS),
                    [&](const char *style) { return utils::strmatch(part.name, style); });
    if (!kspace_ && !needs_all_pairs) continue;
    for (int k = 1; k <= 3; ++k)
      if (force->special_lj[k] == 0.0 && force->special_coul[k] == 0.0)
        error->all(FLERR,
                   "{}: special_bonds factors of zero remove bonded pairs from the neighbor lists, "
                   "and {} needs all pairs: use small non-zero factors such as 1.0e-50",
                   set_.name(), part.name);
  }
}

// Lists are made for the cutoff that the run's pair style has for each pair of types.
bool NestedPair::looks_further(const PairSet::Part &part) const
{
  if (!force->pair) return true;
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = 1; j <= atom->ntypes; ++j)
      if (set_.acts(part, i, j) && part.pair->cutsq[i][j] > force->pair->cutsq[i][j]) return true;
  return false;
}

// Lists and ghosts are made for the pair style of the run; a part may look further.
void NestedPair::reach_cutoff()
{
  double reach = 0.0;
  for (const PairSet::Part &part : set_.parts()) {
    if (!looks_further(part)) continue;
    if (comm->mode != Comm::SINGLE)
      error->all(
          FLERR,
          "{}: {} reaches further than the pair style of the run: use 'comm_modify mode single'",
          set_.name(), part.name);
    for (NeighRequest *request : part.requests) request->set_cutoff(part.cutoff);
    reach = std::max(reach, part.cutoff + neighbor->skin);
  }
  ghosts_->need(this, reach);
}

void NestedPair::setup()
{
  for (PairSet::Part &part : set_.parts()) {
    const ForceSwap swap = swap_in(part);
    set_.give_lists(part);
    part.pair->setup();
  }
  if (kspace_) {
    const ForceSwap swap = swap_in(*long_range_);
    kspace_->setup();
  }
  set_up_ = true;
}

// Each style begins with forces of zero, from which it finds its virial. add(style, energy of this
// rank, virial of this rank, owns ghosts) is called for each, with the atom-based arrays as members
// of the style.
template <class Add> void NestedPair::compute(int eflag, int vflag, const Add &add)
{
  if (!set_up_) setup();
  const std::size_t size = (static_cast<std::size_t>(atom->nlocal) + atom->nghost) * 3;
  double *f = size ? atom->f[0] : nullptr;
  saved_.assign(f, f + size);
  force_.assign(size, 0.0);
  const auto take_forces = [&] {
    for (std::size_t k = 0; k < size; ++k) force_[k] += f[k];
  };
  const double volume = domain->xprd * domain->yprd * domain->zprd;
  for (PairSet::Part &part : set_.parts()) {
    Pair &pair = *part.pair;
    if (!pair.compute_flag) continue;
    const ForceSwap swap = swap_in(part);
    set_.give_lists(part);
    std::fill(f, f + size, 0.0);
    pair.compute(eflag, vflag);
    take_forces();
    double energy = pair.eng_vdwl + pair.eng_coul;
    std::array<double, 6> virial;
    std::copy(pair.virial, pair.virial + 6, virial.begin());
    if (pair.tail_flag && comm->me == 0) {
      energy += pair.etail / volume;
      for (int k = 0; k < 3; ++k) virial[k] += pair.ptail / volume;
    }
    add(pair, energy, virial);
  }
  if (kspace_) {
    const ForceSwap swap = swap_in(*long_range_);
    std::fill(f, f + size, 0.0);
    if (kspace_->compute(eflag, vflag | (vflag & VIRIAL_CENTROID ? VIRIAL_ATOM : 0))) {
      take_forces();
      const KSpace &kspace = *kspace_->style();
      // the same on all ranks
      double energy = 0.0;
      std::array<double, 6> virial{};
      if (comm->me == 0) {
        energy = kspace.energy;
        std::copy(kspace.virial, kspace.virial + 6, virial.begin());
      }
      add(kspace, energy, virial);
    }
  }
  std::copy(saved_.begin(), saved_.end(), f);
}

const NestedPair::Values &NestedPair::evaluate()
{
  double sums[7] = {};
  compute(ENERGY_GLOBAL, VIRIAL_FDOTR,
          [&](const auto &, double energy, const std::array<double, 6> &virial) {
            sums[0] += energy;
            for (int k = 0; k < 6; ++k) sums[k + 1] += virial[k];
          });
  MPI_Allreduce(MPI_IN_PLACE, sums, 7, MPI_DOUBLE, MPI_SUM, world);
  values_.energy = sums[0];
  std::copy(sums + 1, sums + 7, values_.virial.begin());
  fold_(force_.data());
  values_.force = force_.data();
  return values_;
}

void NestedPair::add_to(Pair &pair, int eflag, int vflag)
{
  const int nall = force->newton_pair ? atom->nlocal + atom->nghost : atom->nlocal;
  compute(eflag, vflag, [&](const auto &style, double energy, const std::array<double, 6> &virial) {
    constexpr bool is_pair = std::is_same_v<decltype(style), const Pair &>;
    const int n = is_pair ? nall : atom->nlocal;
    if (pair.eflag_global) pair.eng_coul += energy;
    if (pair.vflag_global)
      for (int k = 0; k < 6; ++k) pair.virial[k] += virial[k];
    if (pair.eflag_atom)
      for (int i = 0; i < n; ++i) pair.eatom[i] += style.eatom[i];
    if (pair.vflag_atom)
      for (int i = 0; i < n; ++i)
        for (int k = 0; k < 6; ++k) pair.vatom[i][k] += style.vatom[i][k];
    if (!pair.cvflag_atom) return;
    // xx yy zz xy xz yz yx zx zy
    static constexpr int SAME[9] = {0, 1, 2, 3, 4, 5, 3, 4, 5};
    bool own = false;
    if constexpr (is_pair) own = style.cvflag_atom;
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < 9; ++k) {
        double value = style.vatom ? style.vatom[i][SAME[k]] : 0.0;
        if constexpr (is_pair)
          if (own) value = style.cvatom[i][k];
        pair.cvatom[i][k] += value;
      }
  });
  double *f = force_.empty() ? nullptr : atom->f[0];
  for (std::size_t k = 0; k < force_.size(); ++k) f[k] += force_[k];
}

double NestedPair::cutoff(int i, int j) const
{
  double largest = 0.0;
  for (const PairSet::Part &part : set_.parts())
    if (set_.acts(part, i, j)) largest = std::max(largest, std::sqrt(part.pair->cutsq[i][j]));
  return largest;
}

std::vector<std::string> NestedPair::style_names() const
{
  std::vector<std::string> names;
  for (const PairSet::Part &part : set_.parts()) names.push_back(part.name);
  return names;
}

int NestedPair::comm_forward() const
{
  int size = 0;
  for (const PairSet::Part &part : set_.parts()) size = std::max(size, part.pair->comm_forward);
  return size;
}

int NestedPair::comm_reverse() const
{
  int size = 0;
  for (const PairSet::Part &part : set_.parts())
    size = std::max({size, part.pair->comm_reverse, part.pair->comm_reverse_off});
  return size;
}

double NestedPair::memory_usage() const
{
  double bytes = static_cast<double>((saved_.capacity() + force_.capacity()) * sizeof(double));
  bytes += set_.memory_usage();
  if (kspace_) bytes += kspace_->memory_usage();
  return bytes;
}
