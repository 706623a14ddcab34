/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/rewind.h"

#include <utility>
#include <vector>

#include "atom.h"
#include "comm.h"
#include "dptrain/session/recovery/stir_velocities.h"
#include "error.h"
#include "neigh_list.h"
#include "styles/pair_dptrain.h"
#include "styles/rewind_check.h"
#include "styles/run_survey.h"
#include "update.h"

using namespace LAMMPS_NS;

// Of the velocities, which go another way after a return: enough to be another one after some
// vibrations.
static constexpr double STRENGTH = 0.1;

Rewind::Rewind(LAMMPS *lmp, PairDPTrain &pair, const UnitFactors &units, std::uint64_t seed) :
    Pointers(lmp), pair_(pair), units_(units), seed_(seed)
{
}

void Rewind::init()
{
  const std::string silent = check_rewind(lmp);
  if (!silent.empty() && !told_ && comm->me == 0)
    error->warning(FLERR,
                   "Fix dptrain: rewind brings atoms, box and the restart data of fixes back; "
                   "these fixes have none, and go on with what they remember: {}",
                   silent);
  told_ = true;
  pending_.reset();
  history_.clear();
  candidate_.reset();
  condition_ = {};
  natoms_ = atom->natoms;
}

std::string Rewind::post_integrate()
{
  candidate_.reset();
  if (pending_) return "";
  RunSurvey survey = survey_run(lmp, units_, natoms_);
  condition_ = survey.condition;
  return std::move(survey.damage);
}

void Rewind::pre_exchange()
{
  if (!pending_) return;
  const Pending pending = *std::exchange(pending_, std::nullopt);
  pending.state->restore(lmp);
  stir(pending.number);
  condition_ = survey_run(lmp, units_, natoms_).condition;
}

void Rewind::stir(int number)
{
  const std::size_t n = atom->nlocal;
  std::vector<std::int64_t> ids(atom->tag, atom->tag + n);
  std::vector<double> masses(n);
  for (std::size_t i = 0; i < n; ++i)
    masses[i] = atom->rmass ? atom->rmass[i] : atom->mass[atom->type[i]];
  dptrain::MovingAtoms moving;
  moving.n = static_cast<std::int64_t>(n);
  moving.id = ids.data();
  moving.mass = masses.data();
  moving.velocity = n ? atom->v[0] : nullptr;
  dptrain::stir_velocities(*world_communicator(lmp), moving, STRENGTH, seed_, number);
}

void Rewind::pre_force()
{
  if (pair_.list) condition_.closest = closest_pair(lmp, units_, *pair_.list);
  if (history_.is_due(update->ntimestep)) candidate_ = std::make_shared<RunState>(lmp);
}

void Rewind::trust()
{
  if (candidate_) history_.add(update->ntimestep, std::exchange(candidate_, nullptr));
}

std::optional<std::int64_t> Rewind::go_back(std::int64_t before, int number)
{
  const auto *entry = history_.go_back(before);
  if (!entry) return std::nullopt;
  pending_ = {entry->state, number};
  return entry->step;
}
