/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/force_override.h"

#include "atom.h"
#include "force.h"
#include "styles/pair_dptrain.h"
#include "update.h"

using namespace LAMMPS_NS;

ForceOverride::ForceOverride(LAMMPS *lmp, PairDPTrain *pair, const UnitFactors &units,
                             FoldGhosts fold) :
    Pointers(lmp), pair_(pair), units_(units), fold_(std::move(fold))
{
}

void ForceOverride::begin(bool trial)
{
  trial_ = trial;
  kept_ = false;
  virial_change_ = {};
}

void ForceOverride::keep()
{
  if (kept_) return;
  const double *model = pair_->last_forces();
  before_.assign(model, model + static_cast<std::size_t>(atom->nlocal + atom->nghost) * 3);
  kept_ = true;
}

void ForceOverride::replace(const double *force, double energy, const double *virial)
{
  keep();
  apply(force, nullptr, energy, virial ? virial : pair_->model_virial());
}

void ForceOverride::replace_by_model()
{
  const PairDPTrain::Sums &sums = pair_->last_sums();
  keep();
  apply(nullptr, pair_->last_forces(), sums.energy, sums.virial);
}

// `owned` [nlocal][3] in LAMMPS units, or those of the model [nall][3] in eV/Angstrom.
void ForceOverride::apply(const double *owned, const double *model, double energy,
                          const double *virial)
{
  const std::size_t nlocal = atom->nlocal;
  const double unit = units_.force();
  change_.resize(before_.size());
  for (std::size_t k = 0; k < change_.size(); ++k)
    change_[k] = unit * ((model ? model[k] : 0.0) - before_[k]);
  fold_(change_.data());
  for (std::size_t i = 0; i < nlocal; ++i)
    for (int k = 0; k < 3; ++k)
      atom->f[i][k] += (owned ? owned[3 * i + k] : 0.0) + change_[3 * i + k];
  for (int k = 0; k < 6; ++k) virial_change_[k] = virial[k] - pair_->model_virial()[k];
  add_energy(energy - pair_->eng_vdwl);
}

void ForceOverride::add_energy(double change)
{
  if (!trial_ && update->eflag_global != update->ntimestep) return;
  pair_->eng_vdwl += change;
  if (force->pair != pair_) force->pair->eng_vdwl += change;  // hybrid/overlay
}

double ForceOverride::memory_usage() const
{
  return static_cast<double>((before_.capacity() + change_.capacity()) * sizeof(double));
}
