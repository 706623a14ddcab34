/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/run_trajectory.h"

#include <algorithm>
#include <array>

#include "atom.h"
#include "comm.h"
#include "lammps.h"
#include "styles/pair_dptrain.h"
#include "styles/rewind.h"
#include "styles/run_survey.h"
#include "update.h"

using namespace LAMMPS_NS;

RunTrajectory::RunTrajectory(LAMMPS *lmp, PairDPTrain *pair, const ModelInUse &slot,
                             ForceOverride &forces, FoldGhosts fold,
                             std::function<void()> use_host_atoms) :
    lmp_(lmp),
    pair_(pair),
    slot_(slot),
    forces_(forces),
    fold_(std::move(fold)),
    use_host_atoms_(std::move(use_host_atoms)),
    units_(unit_factors(lmp, "Fix dptrain"))
{
}

std::int64_t RunTrajectory::step() const
{
  return lmp_->update->ntimestep;
}

std::int64_t RunTrajectory::last_step() const
{
  return lmp_->update->laststep;
}

std::int64_t RunTrajectory::natoms() const
{
  return lmp_->atom->natoms;
}

bool RunTrajectory::has_bars() const
{
  return pair_ && pair_->has_bars();
}

std::vector<double> RunTrajectory::bars() const
{
  use_host_atoms_();
  const double *bars = pair_->bars();
  return {bars, bars + lmp_->atom->nlocal};
}

std::vector<double> RunTrajectory::all_bars()
{
  use_host_atoms_();
  return gather_by_tag(lmp_, pair_->bars(), 1);
}

std::vector<double> RunTrajectory::feature_sum() const
{
  return pair_->feature_sum();
}

double RunTrajectory::energy() const
{
  return pair_ ? pair_->last_sums().energy / units_.energy : 0.0;
}

std::vector<double> RunTrajectory::forces()
{
  use_host_atoms_();
  const std::size_t nall = lmp_->atom->nlocal + lmp_->atom->nghost;
  const double *model = pair_->last_forces();
  std::vector<double> force(model, model + 3 * nall);
  fold_(force.data());
  return gather_by_tag(lmp_, force.data(), 3);
}

dptrain::WholeFrame RunTrajectory::configuration()
{
  use_host_atoms_();
  double cutoff = slot_.cutoff();
  if (!slot_.baseline().empty())  // which may reach further
    cutoff = std::max(cutoff, lmp_->comm->get_comm_cutoff() / units_.length);
  dptrain::WholeFrame frame = gather_atoms(lmp_, slot_.model_type(), cutoff, units_, &tags_);
  const double total = slot_.total_charge().value_or(0.0);
  if (total != 0.0) frame.charge = total;
  return frame;
}

void RunTrajectory::evaluate_again()
{
  use_host_atoms_();
  forces_.keep();
  pair_->evaluate_again();
}

void RunTrajectory::follow_model()
{
  use_host_atoms_();
  forces_.replace_by_model();
}

// Each rank takes the forces of its own atoms; rank 0 has energy and virial.
void RunTrajectory::follow(const dptrain::Label &label)
{
  use_host_atoms_();
  const Atom *atom = lmp_->atom;
  const bool speaks = lmp_->comm->me == 0;
  std::vector<double> force(static_cast<std::size_t>(atom->nlocal) * 3);
  for (int i = 0; i < atom->nlocal; ++i) {
    const auto place = std::lower_bound(tags_.begin(), tags_.end(), atom->tag[i]) - tags_.begin();
    for (int k = 0; k < 3; ++k) force[3 * i + k] = label.force[3 * place + k] * units_.force();
  }
  std::array<double, 6> virial{};
  if (label.virial && speaks) {
    const auto &w = *label.virial;
    virial = {w[0], w[4], w[8], 0.5 * (w[1] + w[3]), 0.5 * (w[2] + w[6]), 0.5 * (w[5] + w[7])};
    for (double &component : virial) component *= units_.energy;
  }
  forces_.replace(force.data(), speaks ? *label.energy * units_.energy : 0.0,
                  label.virial ? virial.data() : nullptr);
}

dptrain::RunCondition RunTrajectory::condition() const
{
  if (rewind_) return rewind_->condition();
  use_host_atoms_();
  return survey_run(lmp_, units_, natoms()).condition;
}

void RunTrajectory::trust()
{
  if (rewind_) rewind_->trust();
}

std::optional<std::int64_t> RunTrajectory::go_back(std::int64_t before, int number)
{
  return rewind_ ? rewind_->go_back(before, number) : std::nullopt;
}
