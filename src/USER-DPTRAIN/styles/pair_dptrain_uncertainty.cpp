/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// The part of pair style dptrain that is about error bars.
#include <algorithm>
#include <cstring>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "error.h"
#include "styles/pair_dptrain_data.h"
#include "update.h"

using namespace LAMMPS_NS;

bool PairDPTrain::has_bars() const
{
  return data_->found.has_bars;
}

// Evaluated for who asks at a step at which nobody was expected to.
const double *PairDPTrain::bars()
{
  if (!data_->found.bars && data_->found.has_bars) {
    data_->asks_for_bars = true;
    evaluate_again();
    data_->asks_for_bars = false;
  }
  return host_result(BAR);
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

// For fix pair: `uncertainty`, the expected force error of each atom, and `deviation`, that of the
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
