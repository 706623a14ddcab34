/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/baseline_pairs.h"

#include <algorithm>
#include <cmath>

#include "atom.h"
#include "comm.h"
#include "error.h"
#include "nested/baseline_words.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

// As commands.
static std::string text_of(const dptrain::Baseline &baseline)
{
  std::string text = "pair_style " + baseline.pair_style;
  const auto add = [&](const char *command, const std::vector<std::string> &arguments) {
    for (const std::string &words : arguments) text += fmt::format("; {} {}", command, words);
  };
  add("pair_coeff", baseline.pair_coeff);
  add("pair_modify", baseline.pair_modify);
  if (!baseline.kspace_style.empty()) add("kspace_style", {baseline.kspace_style});
  add("kspace_modify", baseline.kspace_modify);
  return text;
}

BaselinePairs::BaselinePairs(LAMMPS *lmp, const std::string &who,
                             const std::vector<dptrain::Baseline> &baseline,
                             const std::vector<std::string> &elements, const FoldGhosts &fold) :
    Pointers(lmp), who_(who), baseline_(baseline), elements_(elements)
{
  for (const dptrain::Baseline &one : baseline) {
    if (one.units != update->unit_style)
      error->all(
          FLERR,
          "The {} {} was written for units {}, and this run has units {}: use the units of the "
          "baseline",
          who, one.pair_style, one.units, update->unit_style);
    if (!one.charges.empty() && !atom->q_flag)
      error->all(FLERR,
                 "The {} {} acts on charges, and the atoms of this run have none: use atom_style "
                 "charge (or another one with charges) and the command set",
                 who, one.pair_style);
    const dptrain::Baseline here = collective(lmp, fmt::format("The {} {}", who, one.pair_style),
                                              [&] { return for_elements(one, elements); });
    try {
      pairs_.push_back(std::make_unique<NestedPair>(lmp, who, options_of(here), fold));
    } catch (const LAMMPSException &) {  // no line of the input tells where they are from
      if (comm->me == 0)
        utils::logmesg(lmp, "LAMMPS does not take these words of the {} {}\n", who, text_of(here));
      throw;
    }
  }
}

// A model that was trained with other charges would be wrong without a word.
void BaselinePairs::check_charges(const dptrain::Baseline &baseline) const
{
  constexpr double same = 1e-6;  // elementary charges
  for (int i = 0; i < atom->nlocal; ++i) {
    const std::string &element = elements_[atom->type[i] - 1];
    const double charge = baseline.charges.at(element);
    if (std::abs(atom->q[i] - charge) < same) continue;
    error->one(
        FLERR,
        "The {} {} was trained with a charge of {} for {}, and atom {} has {}: use 'set type {} "
        "charge {}'",
        who_, baseline.pair_style, charge, element, atom->tag[i], atom->q[i], atom->type[i],
        charge);
  }
}

void BaselinePairs::init()
{
  for (const dptrain::Baseline &one : baseline_)
    if (!one.charges.empty()) check_charges(one);
  for (const auto &pair : pairs_) pair->init();
}

void BaselinePairs::reach_cutoff()
{
  for (const auto &pair : pairs_) pair->reach_cutoff();
}

void BaselinePairs::setup()
{
  for (const auto &pair : pairs_) pair->setup();
}

const NestedPair::Values &BaselinePairs::evaluate()
{
  if (pairs_.size() == 1) return pairs_[0]->evaluate();
  values_ = {};
  force_.assign(3 * static_cast<std::size_t>(atom->nlocal), 0.0);
  for (const auto &pair : pairs_) {
    const NestedPair::Values &values = pair->evaluate();
    values_.energy += values.energy;
    for (int k = 0; k < 6; ++k) values_.virial[k] += values.virial[k];
    for (std::size_t k = 0; k < force_.size(); ++k) force_[k] += values.force[k];
  }
  values_.force = force_.data();
  return values_;
}

void BaselinePairs::add_to(Pair &pair, int eflag, int vflag)
{
  for (const auto &one : pairs_) one->add_to(pair, eflag, vflag);
}

double BaselinePairs::cutoff(int i, int j) const
{
  double largest = 0.0;
  for (const auto &pair : pairs_) largest = std::max(largest, pair->cutoff(i, j));
  return largest;
}

std::vector<std::string> BaselinePairs::style_names() const
{
  std::vector<std::string> names;
  for (const auto &pair : pairs_)
    for (const std::string &name : pair->style_names()) names.push_back(name);
  return names;
}

int BaselinePairs::comm_forward() const
{
  int size = 0;
  for (const auto &pair : pairs_) size = std::max(size, pair->comm_forward());
  return size;
}

int BaselinePairs::comm_reverse() const
{
  int size = 0;
  for (const auto &pair : pairs_) size = std::max(size, pair->comm_reverse());
  return size;
}

double BaselinePairs::memory_usage() const
{
  double bytes = static_cast<double>(force_.capacity() * sizeof(double));
  for (const auto &pair : pairs_) bytes += pair->memory_usage();
  return bytes;
}
