/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// The part of pair style dptrain that is about uncertainties of the last hidden layer.
#include <algorithm>
#include <cstring>

#include "adapter/style_names.h"
#include "atom.h"
#include "comm.h"
#include "error.h"
#include "styles/pair_dptrain_data.h"
#include "update.h"

using namespace LAMMPS_NS;

bool PairDPTrain::has_scores() const
{
  return data_->found.scores;
}

const double *PairDPTrain::scores()
{
  return host_result(SCORE);
}

const std::vector<double> &PairDPTrain::feature_sum() const
{
  return data_->features;
}

double PairDPTrain::score_unit() const
{
  const dptrain::Calibration &calibration = data_->slot->calibration();
  return calibration.is_known() ? calibration.scale() * data_->units.force() : 1.0;
}

void PairDPTrain::check_unit(const char *who) const
{
  if (comm->me == 0 && !may_learn() && !data_->slot->calibration().is_known())
    error->warning(
        FLERR,
        "{}: the uncertainty of {} was never compared with a reference: it is given as it is, "
        "without unit; train the model with fix dptrain and mode active for force units",
        who, data_->slot->path());
}

// For fix pair: `uncertainty`, the expected force error of each atom, and `deviation`, that of the
// committee's forces.
void *PairDPTrain::extract_peratom(const char *name, int &columns)
{
  columns = 0;
  const bool deviation = strcmp(name, "deviation") == 0;
  if (!deviation && strcmp(name, "uncertainty") != 0) return nullptr;
  ModelInUse &slot = *data_->slot;
  if (!deviation) slot.want_uncertainty();
  if (deviation && slot.model() && !has_committee())
    error->all(FLERR, "Pair style dptrain has no deviation to extract: give it a committee "
                      "(committee FILE2 [FILE3 ...] end)");
  std::vector<double> &values = data_->for_fix_pair.values[deviation ? 1 : 0];
  values.assign(std::max(atom->nlocal, 1), 0.0);
  if (update->whichflag == 0) return values.data();  // only the number of columns is asked for
  if (!deviation && slot.trained() && !may_learn() && !slot.has_uncertainty())
    error->all(FLERR,
               "Pair style dptrain has no uncertainty to extract: {} does not know its own; use a "
               "model that fix dptrain has trained",
               slot.path());
  if (!deviation && slot.trained() && !data_->for_fix_pair.warned_of_unit) {
    data_->for_fix_pair.warned_of_unit = true;
    check_unit(PAIR_STYLE);
  }
  const double *found = nullptr;
  if (deviation) found = committee_deviation();
  if (!deviation && has_scores()) found = scores();
  const double unit = deviation ? 1.0 : score_unit();
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
