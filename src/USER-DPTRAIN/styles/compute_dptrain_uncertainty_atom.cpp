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
    Compute(lmp, narg, arg), pair_(nullptr), nmax_(0), committee_(false)
{
  committee_ = narg == 4 && strcmp(arg[3], "committee") == 0;
  if (narg > 3 && !committee_)
    error->all(FLERR, 3,
               fmt::format("{}: found {}, use committee, or nothing for the error bar of each atom",
                           WHO, arg[3]));
  peratom_flag = 1;
  timeflag = 1;  // the pair style looks at when values are asked for
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
    error->all(
        FLERR,
        "{}: error bars are those of pair_style dptrain, alone or once in a hybrid style, and the "
        "pair style is {}: use pair_style dptrain",
        WHO, force->pair_style);
  if (committee_ && !pair_->has_committee())
    error->all(FLERR,
               "{}: the pair style has no committee: use 'pair_style dptrain committee FILE2 "
               "[FILE3 ...] end'",
               WHO);
  if (committee_) return;
  pair_->slot()->want_bars();
  pair_->check_bars(WHO);
}

// Zero as long as there is no model, or no label has been compared with it.
void ComputeDPTrainUncertaintyAtom::compute_peratom()
{
  invoked_peratom = update->ntimestep;
  if (atom->nmax > nmax_) {
    memory->destroy(vector_atom);
    nmax_ = atom->nmax;
    memory->create(vector_atom, nmax_, "dptrain/uncertainty/atom:vector_atom");
  }
  const double scale = committee_ ? 1.0 : pair_->bar_unit();
  const double *values = committee_          ? pair_->committee_deviation()
                         : pair_->has_bars() ? pair_->bars()
                                             : nullptr;
  for (int i = 0; i < atom->nlocal; ++i)
    vector_atom[i] = values && (atom->mask[i] & groupbit) ? scale * values[i] : 0.0;
}

double ComputeDPTrainUncertaintyAtom::memory_usage()
{
  return static_cast<double>(nmax_) * sizeof(double);
}
