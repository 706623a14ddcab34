/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/compute_dptrain_uncertainty_atom.h"

#include <cstring>

#include "adapter/dptrain_adapter.h"
#include "atom.h"
#include "error.h"
#include "force.h"
#include "memory.h"
#include "styles/pair_dptrain.h"
#include "update.h"

using namespace LAMMPS_NS;

static const char WHO[] = "Compute dptrain/uncertainty/atom";

ComputeDPTrainUncertaintyAtom::ComputeDPTrainUncertaintyAtom(LAMMPS *lmp, int narg, char **arg) :
    Compute(lmp, narg, arg), pair_(nullptr), nmax_(0), raw_(false), committee_(false)
{
  raw_ = narg == 4 && strcmp(arg[3], "raw") == 0;
  committee_ = narg == 4 && strcmp(arg[3], "committee") == 0;
  if (narg > 3 && strcmp(arg[3], "sampled") == 0)
    error->all(FLERR, 3,
               fmt::format("{}: sampled last layers were removed: leave the keyword out for the "
                           "expected force error of each atom, or use committee",
                           WHO));
  if (narg > 3 && !raw_ && !committee_)
    error->all(FLERR, 3, fmt::format("{}: found {}, use raw or committee", WHO, arg[3]));
  peratom_flag = 1;
  size_peratom_cols = 0;
}

ComputeDPTrainUncertaintyAtom::~ComputeDPTrainUncertaintyAtom()
{
  memory->destroy(vector_atom);
}

void ComputeDPTrainUncertaintyAtom::init()
{
  pair_ = PairDPTrain::find(lmp);
  if (!pair_)
    error->all(FLERR,
               "{}: the uncertainty is one of pair_style dptrain (once, in a hybrid style); the "
               "pair style is {}",
               WHO, force->pair_style);
  if (committee_ && !pair_->has_committee())
    error->all(FLERR,
               "{}: the pair style has no committee: use 'pair_style dptrain committee FILE2 "
               "[FILE3 ...] end'",
               WHO);
  if (committee_) return;
  ModelInUse &slot = *pair_->slot();
  slot.want_uncertainty();
  if (!pair_->may_learn() && !slot.has_uncertainty())
    error->all(
        FLERR,
        "{}: the model {} has no uncertainty: train it with fix dptrain, best in 'mode active'",
        WHO, slot.path());
  if (!raw_) pair_->check_unit(WHO);
}

// Zero as long as there is no model.
void ComputeDPTrainUncertaintyAtom::compute_peratom()
{
  invoked_peratom = update->ntimestep;
  if (atom->nmax > nmax_) {
    memory->destroy(vector_atom);
    nmax_ = atom->nmax;
    memory->create(vector_atom, nmax_, "dptrain/uncertainty/atom:vector_atom");
  }
  const double scale = raw_ || committee_ ? 1.0 : pair_->score_unit();
  const double *scores = committee_            ? pair_->committee_deviation()
                         : pair_->has_scores() ? pair_->scores()
                                               : nullptr;
  for (int i = 0; i < atom->nlocal; ++i)
    vector_atom[i] = scores && (atom->mask[i] & groupbit) ? scale * scores[i] : 0.0;
}

double ComputeDPTrainUncertaintyAtom::memory_usage()
{
  return static_cast<double>(nmax_) * sizeof(double);
}
