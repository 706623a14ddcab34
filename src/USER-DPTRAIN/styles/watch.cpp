/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/watch.h"

#include <algorithm>
#include <cmath>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "neigh_list.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

namespace {

// Distances of features, over the largest that is known, above which a configuration is outside: of
// an atom, and of the root mean square of all. Other trajectories of the same kind stay below 3.6
// and 1.5 (bench/results/bars.md).
constexpr double atom_limit = 5.0, frame_limit = 1.8;
// Of the smallest learned distance of two atoms: larger boxes come to 0.9 of it by chance.
constexpr double pair_limit = 0.88;
// A configuration is kept when the run goes outside, and again when it is so much farther away.
constexpr double farther = 1.5;

}  // namespace

bool Watch::Sight::is_outside() const
{
  return !std::isfinite(bar) || atom_ratio > atom_limit || frame_ratio > frame_limit ||
         contact.ratio < pair_limit;
}

Watch::Watch(LAMMPS *lmp, std::shared_ptr<const dptrain::Communicator> comm) :
    Pointers(lmp), world_(std::move(comm))
{
}

void Watch::begin_run(const ModelInUse &slot)
{
  units_ = unit_factors(lmp, PAIR_STYLE);
  spool_.reset();  // another folder or model may have been given
  forget();
  if (options.every == 0 || !slot.model() || !slot.owner().empty()) return;
  const bool has_bars = slot.has_calibrated_bars() && slot.model()->bars().known_atom > 0.0;
  if (has_bars || told_of_ == slot.generation() || comm->me != 0) return;
  told_of_ = slot.generation();
  utils::logmesg(lmp,
                 "{}: {} has no error bars: of this run {}; dptrain train with numb_steps 0 gives "
                 "a model bars\n",
                 PAIR_STYLE, slot.path(),
                 slot.model()->walls().empty() ? "nothing is watched"
                                               : "distances of atoms are watched alone");
}

// Of the run before: `run ... pre no` has no beginning.
void Watch::forget()
{
  contact_ = closest_ = {};
  looks_ = outside_ = kept_ = 0;
  latest_ = -1;
  was_outside_ = false;
  kept_ratio_ = 0.0;
  worst_ = {};
}

void Watch::note(const dptrain::WallContact &contact)
{
  if (!(contact.ratio < contact_.ratio)) return;
  contact_ = contact;
  contact_step_ = update->ntimestep;
}

// A minimizer evaluates several configurations at a step. A run begins with one of its own, and so
// does each configuration of a rerun.
bool Watch::is_due() const
{
  if (options.every == 0) return false;
  return update->setupflag ||
         (update->ntimestep % options.every == 0 && update->ntimestep != latest_);
}

Watch::Sight Watch::see(const ModelInUse &slot, const double *bars, const int *type)
{
  const dptrain::ErrorBars &known = slot.model()->bars();
  Sight sight;
  double largest[3] = {0.0, 0.0, 1.0 - contact_.ratio}, sums[2] = {};
  int worst = -1;
  for (int i = 0; bars && i < atom->nlocal; ++i) {
    if (type[i] < 0) continue;
    if (worst < 0 || !(bars[i] <= largest[0])) {  // also what is not a number
      largest[0] = std::isfinite(bars[i]) ? bars[i] : HUGE_VAL;
      worst = i;
    }
    const double distance = bars[i] / known.scale[type[i]];
    largest[1] = std::max(largest[1], distance);
    sums[0] += distance * distance;
    sums[1] += 1.0;
  }
  const double own_bar = largest[0], own_contact = largest[2];
  world_->all_reduce_max(largest, 3);
  world_->all_reduce_sum(sums, 2);
  constexpr double types = 256.0;
  double who[3] = {worst >= 0 && own_bar == largest[0] ? static_cast<double>(atom->tag[worst])
                                                       : 0.0,
                   own_contact == largest[2] ? contact_.types[0] * types + contact_.types[1] : -1.0,
                   own_contact == largest[2] ? static_cast<double>(contact_step_) : 0.0};
  world_->all_reduce_max(who, 3);
  sight.bar = largest[0];
  sight.atom = static_cast<tagint>(who[0]);
  if (known.known_atom > 0.0) sight.atom_ratio = largest[1] / known.known_atom;
  if (known.known_frame > 0.0 && sums[1] > 0.0)
    sight.frame_ratio = std::sqrt(sums[0] / sums[1]) / known.known_frame;
  sight.contact.ratio = 1.0 - largest[2];
  sight.contact.types[0] = static_cast<int>(who[1] / types);
  sight.contact.types[1] = static_cast<int>(who[1] - sight.contact.types[0] * types);
  sight.contact_step = static_cast<bigint>(who[2]);
  return sight;
}

void Watch::look(const ModelInUse &slot, const double *bars, const int *type, const NeighList *list)
{
  const Sight now = see(slot, bars, type);
  contact_ = {};
  latest_ = update->ntimestep;
  ++looks_;
  if (now.bar > worst_.bar || looks_ == 1) {
    worst_ = now;
    worst_step_ = update->ntimestep;
  }
  if (now.contact.ratio < closest_.ratio) {
    closest_ = now.contact;
    closest_step_ = now.contact_step;
  }
  const bool is_outside = now.is_outside();
  const bool enters = is_outside && !was_outside_;
  was_outside_ = is_outside;
  if (!is_outside) return;
  ++outside_;
  if (outside_ == 1) warn(slot, now, list);
  const double ratio = std::max({now.atom_ratio / atom_limit, now.frame_ratio / frame_limit,
                                 1.0 / std::max(now.contact.ratio, 1e-3)});
  if (!options.folder.empty() && (enters || ratio > farther * kept_ratio_)) {
    kept_ratio_ = ratio;
    keep(slot);
  }
  if (options.stops)
    error->all(FLERR,
               "{}: step {} is outside of what {} has learned, see the warning above, and the run "
               "ends ('watch ... stop'): let the model learn such configurations (fix dptrain, "
               "mode active)",
               PAIR_STYLE, update->ntimestep, slot.path());
}

std::string Watch::text_of(const ModelInUse &slot, const dptrain::WallContact &contact) const
{
  const auto [a, b] = contact.types;
  const double begin = slot.model()->walls().begin.at(a, b) * units_.length;
  const std::vector<std::string> &elements = slot.type_map();
  return fmt::format("{}-{} {:.4g}, {:.2f} of the smallest learned distance", elements[a],
                     elements[b], contact.ratio * begin, contact.ratio);
}

// The atoms of it, where it is one of the present step and the host has a list.
std::string Watch::closest_pair(const ModelInUse &slot, const Sight &sight,
                                const NeighList *list) const
{
  if (sight.contact_step != update->ntimestep) return "";
  const auto [first, second] = sight.contact.types;
  double smallest = HUGE_VAL;
  tagint pair[2] = {};
  for (int k = 0; list && k < list->inum; ++k) {
    const int i = list->ilist[k], a = slot.model_type()[atom->type[i]];
    for (int n = 0; n < list->numneigh[i] && a >= 0; ++n) {
      const int j = list->firstneigh[i][n] & NEIGHMASK, b = slot.model_type()[atom->type[j]];
      if (!(a == first && b == second) && !(a == second && b == first)) continue;
      double square = 0.0;
      for (int d = 0; d < 3; ++d)
        square += (atom->x[i][d] - atom->x[j][d]) * (atom->x[i][d] - atom->x[j][d]);
      const double ratio = std::sqrt(square) / slot.model()->walls().begin.at(a, b);
      if (ratio < smallest) {
        smallest = ratio;
        pair[0] = atom->tag[i];
        pair[1] = atom->tag[j];
      }
    }
  }
  double best = -smallest;
  world_->all_reduce_max(&best, 1);
  // of several pairs, and of one that two ranks have found: the largest id, then its neighbor's
  double tags[2] = {};
  if (best == -smallest) tags[0] = static_cast<double>(std::max(pair[0], pair[1]));
  const double own = tags[0];
  world_->all_reduce_max(tags, 1);
  if (own == tags[0]) tags[1] = static_cast<double>(std::min(pair[0], pair[1]));
  world_->all_reduce_max(tags + 1, 1);
  return tags[0] > 0.0 ? fmt::format(" (atoms {:.0f} and {:.0f})", tags[0], tags[1]) : "";
}

void Watch::warn(const ModelInUse &slot, const Sight &sight, const NeighList *list)
{
  std::string what;
  if (sight.atom_ratio > atom_limit || sight.frame_ratio > frame_limit || !std::isfinite(sight.bar))
    what = fmt::format("the force on atom {} has an error bar of {:.4g} force units, and the "
                       "surroundings of {} are {:.3g} times as far from the learned ones as those "
                       "are from each other (inside: up to {:g})",
                       sight.atom, sight.bar * units_.force(),
                       sight.frame_ratio > frame_limit ? "all atoms" : "an atom",
                       sight.frame_ratio > frame_limit ? sight.frame_ratio : sight.atom_ratio,
                       sight.frame_ratio > frame_limit ? frame_limit : atom_limit);
  if (sight.contact.ratio < pair_limit)
    what += fmt::format("{}two atoms were closer at step {} than all in the training data: {}{}",
                        what.empty() ? "" : "; ", sight.contact_step, text_of(slot, sight.contact),
                        closest_pair(slot, sight, list));
  if (comm->me == 0)
    error->warning(FLERR,
                   "{}: step {} is outside of what {} has learned: {}. Let the model learn such "
                   "configurations (fix dptrain, with explore); {}",
                   PAIR_STYLE, update->ntimestep, slot.path(), what,
                   options.folder.empty() ? "'watch N dump FOLDER' keeps them"
                                          : fmt::format("they are kept in {}", options.folder));
}

void Watch::keep(const ModelInUse &slot)
{
  const dptrain::WholeFrame frame = gather_atoms(lmp, slot.model_type(), slot.cutoff(), units_);
  collective(lmp, PAIR_STYLE, [&] {
    if (!spool_) {
      dptrain::SpoolOptions spool;
      spool.folder = options.folder;
      const auto atoms = [this, elements = slot.type_map()] {
        return dptrain::SpoolAtoms{
            elements, {domain->xperiodic != 0, domain->yperiodic != 0, domain->zperiodic != 0}};
      };
      spool_ = std::make_unique<dptrain::SpoolSource>(world_, spool, atoms, dptrain::no_messages());
    }
    spool_->submit(frame);
  });
  ++kept_;
}

void Watch::end_run(const ModelInUse &slot)
{
  const bool watches = worst_.bar > 0.0 || (slot.model() && !slot.model()->walls().empty());
  if (looks_ > 0 && watches && comm->me == 0) tell(slot);
  forget();
}

void Watch::tell(const ModelInUse &slot) const
{
  std::string text = fmt::format("Pair dptrain: watched {} configurations: ", looks_);
  text += outside_ == 0 ? "inside of what was learned"
                        : fmt::format("outside of what was learned at {} of them", outside_);
  if (worst_.bar > 0.0)
    text += fmt::format("; largest error bar {:.4g} force units at step {}, atom {}",
                        worst_.bar * units_.force(), worst_step_, worst_.atom);
  if (closest_.ratio < 1.0)
    text += fmt::format("; closest pair {}, step {}", text_of(slot, closest_), closest_step_);
  if (kept_ > 0) text += fmt::format("; {} of them in {}", kept_, options.folder);
  utils::logmesg(lmp, text + "\n");
}
