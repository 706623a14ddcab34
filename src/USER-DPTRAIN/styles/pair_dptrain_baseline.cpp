/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// Pair style dptrain with a potential that has a baseline.

#include <algorithm>

#include "adapter/lammps_compat.h"
#include "comm.h"
#include "error.h"
#include "force.h"
#include "neighbor.h"
#include "styles/pair_dptrain_data.h"
#include "utils.h"

using namespace LAMMPS_NS;

bool PairDPTrain::has_baseline() const
{
  return data_->baseline != nullptr;
}

// Also where the net is not trained yet: labels that drive the atoms are without the baseline.
void PairDPTrain::add_baseline(int eflag, int vflag)
{
  std::copy(virial, virial + 6, data_->virial);
  if (data_->baseline) data_->baseline->add_to(*this, eflag, vflag);
}

const double *PairDPTrain::model_virial() const
{
  return data_->virial;
}

// At the first init_one(): what is asked of neighbor lists in init_style() a hybrid style takes for
// that of its sub-styles.
void PairDPTrain::init_baseline()
{
  const ModelInUse &slot = *data_->slot;
  if (slot.baseline().empty()) return data_->baseline.reset();
  const std::string who = fmt::format("baseline of {}:", slot.path());
  if (slot.has_null())
    error->all(FLERR,
               "Pair style dptrain: {} it acts on all atoms, and pair_coeff gives NULL for an atom "
               "type: give each "
               "type an element",
               who);
  if (!data_->baseline || !data_->baseline->is_of(slot.baseline(), slot.elements()))
    data_->baseline = std::make_unique<BaselinePairs>(lmp, who, slot.baseline(), slot.elements());
  BaselinePairs &baseline = *data_->baseline;
  baseline.init();
  comm_forward = baseline.comm_forward();
  comm_reverse = std::max(ATOM_VIRIAL, baseline.comm_reverse());
  Pair *run = force->pair;  // a hybrid style, or this one
  run->comm_forward = std::max(run->comm_forward, comm_forward);
  run->comm_reverse = std::max(run->comm_reverse, comm_reverse);
  // the baseline may look further than the model, whose list need not
  if (NeighRequest *request = neighbor->find_request(this)) request->set_cutoff(model_cutoff());
  for (const std::string &style : baseline.style_names())
    if (comm->me == 0 && utils::strmatch(force->pair_style, "^hybrid/overlay") &&
        force->pair_match(style, 1, 1))
      error->warning(FLERR,
                     "Pair style dptrain: {} the run has a pair style {} beside dptrain, too, and "
                     "the potential adds "
                     "its own: remove it, unless both are meant",
                     who, style);
}
