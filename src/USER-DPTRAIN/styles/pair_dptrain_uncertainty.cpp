/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// The part of pair style dptrain that is about error bars: when they are evaluated, who reads them.
#include <algorithm>
#include <cstring>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "compute.h"
#include "error.h"
#include "modify.h"
#include "styles/compute_dptrain_uncertainty_atom.h"
#include "styles/pair_dptrain_data.h"
#include "styles/trial_moves.h"
#include "update.h"

using namespace LAMMPS_NS;

bool PairDPTrain::has_bars() const
{
  return data_->found.has_bars;
}

// Who trains the model asks the reference instead.
void PairDPTrain::watch()
{
  ModelInUse &slot = *data_->slot;
  Watch &watch = data_->watch;
  if (!slot.owner().empty() || watch.options.every == 0 || !data_->failure.empty()) return;
  // a trial move may be rejected, and so may a point of a line search
  const bool counts = !is_trial_move(lmp) && (update->whichflag != 2 || data_->watches_now);
  if (counts) watch.note(slot.model()->neighbor_report().wall);
  if (!data_->watches_now) return;
  const double *bars = slot.has_calibrated_bars() ? this->bars() : nullptr;
  std::vector<int> type(atom->nlocal);
  for (int i = 0; i < atom->nlocal; ++i) type[i] = data_->exclusions.model_type_of(i);
  watch.look(slot, bars, type.data(), kokkosable ? nullptr : list);
}

void PairDPTrain::finish()
{
  data_->watch.end_run(*data_->slot);
}

// At steps at which somebody asks for them: the distances cost half as much as the model.
bool PairDPTrain::needs_bars()
{
  const ModelInUse &slot = *data_->slot;
  const bigint step = update->ntimestep, every = data_->deviation_options.every;
  data_->watches_now = slot.owner().empty() && data_->watch.is_due() && !is_trial_move(lmp);
  if (!slot.has_bars()) return false;
  const bool learns = !slot.owner().empty() && (update->setupflag || slot.bars_are_due(step));
  if (learns || data_->watches_now || data_->for_fix_pair.asked || data_->asks_for_bars)
    return true;
  if (every > 0 && step % every == 0 && data_->committee.empty()) return true;
  for (Compute *compute : modify->get_compute_by_style("^dptrain/uncertainty/atom")) {
    const auto *mine = dynamic_cast<ComputeDPTrainUncertaintyAtom *>(compute);
    if (mine && mine->reads_bars() && compute->matchstep(step)) return true;
  }
  return false;
}

// is_latest: the last evaluation is that of the step for who asks.
void PairDPTrain::need_same_atoms(bool is_latest, const char *values) const
{
  const auto &found = data_->found;
  if (!is_latest || found.nlocal != atom->nlocal || found.nghost != atom->nghost)
    error->one(FLERR,
               "{}: atoms have changed since the forces were computed, and {} are those of the "
               "forces: ask for them after 'run 0'",
               PAIR_STYLE, values);
}

// Evaluated for who asks at a step at which nobody was expected to.
const double *PairDPTrain::bars()
{
  auto &found = data_->found;
  if (!found.has_bars) return nullptr;
  if (!found.bars) {
    need_same_atoms(found.step == update->ntimestep, "error bars");
    data_->asks_for_bars = true;
    evaluate_again();
    data_->asks_for_bars = false;
  }
  const double *bars = host_result(BAR);
  const dptrain::Model &model = *data_->slot->model();
  if (model.bars_version() == found.known_version) return bars;
  data_->rescaled.resize(atom->nlocal);
  for (int i = 0; i < atom->nlocal; ++i) {
    const int type = data_->exclusions.model_type_of(i);
    data_->rescaled[i] = bars[i] * model.bars().factor(type) / found.known.factor(type);
  }
  return data_->rescaled.data();
}

const std::vector<double> &PairDPTrain::feature_sum()
{
  bars();
  return data_->features;
}

double PairDPTrain::bar_unit() const
{
  return data_->slot->has_calibrated_bars() ? data_->units.force() : 0.0;
}

void PairDPTrain::check_bars(const char *who) const
{
  const ModelInUse &slot = *data_->slot;
  if (!slot.trained() || may_learn() || slot.has_calibrated_bars()) return;
  error->all(FLERR,
             "{}: the model {} has no error bars: train it with fix dptrain in 'mode active', or "
             "with dptrain train, which measures them on frames that it holds out",
             who, slot.path());
}

// For fix pair: `uncertainty`, the error bar of each atom, and `deviation`, that of the
// committee's forces.
void *PairDPTrain::extract_peratom(const char *name, int &columns)
{
  columns = 0;
  const bool deviation = strcmp(name, "deviation") == 0;
  if (!deviation && strcmp(name, "uncertainty") != 0) return nullptr;
  ModelInUse &slot = *data_->slot;
  if (!deviation) slot.want_bars();
  if (deviation && slot.model() && !has_committee())
    error->all(FLERR, "Pair style dptrain has no deviation to extract: give it a committee "
                      "(committee FILE2 [FILE3 ...] end)");
  std::vector<double> &values = data_->for_fix_pair.values[deviation ? 1 : 0];
  values.assign(std::max(atom->nlocal, 1), 0.0);
  if (update->whichflag == 0) return values.data();  // only the number of columns is asked for
  if (!deviation) check_bars(PAIR_STYLE);
  const double *found = nullptr;
  if (deviation) found = committee_deviation();
  if (!deviation && has_bars()) found = bars();
  const double unit = deviation ? 1.0 : bar_unit();
  for (int i = 0; found && i < atom->nlocal; ++i) values[i] = unit * found[i];
  return values.data();
}

// What fix pair sets to 1 where it will read: both are there without it.
void *PairDPTrain::extract(const char *name, int &dim)
{
  dim = 0;
  if (strcmp(name, "uncertainty_flag") == 0 || strcmp(name, "deviation_flag") == 0)
    return &data_->for_fix_pair.asked;
  return nullptr;
}
