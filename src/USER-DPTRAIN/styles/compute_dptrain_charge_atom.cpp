/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/compute_dptrain_charge_atom.h"

#include "adapter/dptrain_adapter.h"
#include "atom.h"
#include "error.h"
#include "force.h"
#include "memory.h"
#include "styles/pair_dptrain.h"
#include "update.h"

using namespace LAMMPS_NS;

static const char CHARGE_STYLE[] = "Compute dptrain/charge/atom";

ComputeDPTrainChargeAtom::ComputeDPTrainChargeAtom(LAMMPS *lmp, int narg, char **arg) :
    Compute(lmp, narg, arg)
{
  if (narg > 3)
    error->all(FLERR, 3, fmt::format("{}: found {}, use no keyword", CHARGE_STYLE, arg[3]));
  peratom_flag = 1;
  size_peratom_cols = 0;
}

ComputeDPTrainChargeAtom::~ComputeDPTrainChargeAtom()
{
  memory->destroy(vector_atom);
}

void ComputeDPTrainChargeAtom::init()
{
  pair_ = PairDPTrain::find(lmp);
  if (!pair_)
    error->all(FLERR,
               "{}: charges are those of pair_style dptrain, alone or once in a hybrid style, and "
               "the pair style is {}: use pair_style dptrain",
               CHARGE_STYLE, force->pair_style);
  const auto &model = pair_->slot()->model();
  if (model && !model->charges() && !pair_->may_learn())
    error->all(FLERR,
               "{}: {} has no charges: remove the compute, or let a new model learn them (manual, "
               "Howto_dptrain_charges)",
               CHARGE_STYLE, pair_->slot()->path());
}

// Zero as long as there is no model, or where it has no charges.
void ComputeDPTrainChargeAtom::compute_peratom()
{
  invoked_peratom = update->ntimestep;
  if (atom->nmax > nmax_) {
    memory->destroy(vector_atom);
    nmax_ = atom->nmax;
    memory->create(vector_atom, nmax_, "dptrain/charge/atom:vector_atom");
  }
  const std::vector<double> charges = pair_->atom_charges();
  for (int i = 0; i < atom->nlocal; ++i)
    vector_atom[i] = atom->mask[i] & groupbit ? charges[i] : 0.0;
}

double ComputeDPTrainChargeAtom::memory_usage()
{
  return static_cast<double>(nmax_) * sizeof(double);
}
