/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_run.h"

#include "atom.h"
#include "compute.h"
#include "domain.h"
#include "fmt/format.h"
#include "force.h"
#include "modify.h"

using namespace LAMMPS_NS;

// Without contributions of fixes: those are not a property of the configuration.
ReferenceRun::ReferenceRun(LAMMPS *lmp, const std::string &fix_id) :
    Pointers(lmp),
    energy_id_(fix_id + "_dptrain_energy"),
    virial_id_(fix_id + "_dptrain_virial"),
    source_(lmp, [this] { return values(); })
{
  modify->add_compute(
      fmt::format("{} all pe pair bond angle dihedral improper kspace", energy_id_));
  modify->add_compute(
      fmt::format("{} all pressure NULL pair bond angle dihedral improper kspace", virial_id_));
}

ReferenceRun::~ReferenceRun()
{
  if (modify->get_compute_by_id(energy_id_)) modify->delete_compute(energy_id_);
  if (modify->get_compute_by_id(virial_id_)) modify->delete_compute(virial_id_);
}

void ReferenceRun::announce(bigint step)
{
  modify->get_compute_by_id(energy_id_)->addstep(step);
  modify->get_compute_by_id(virial_id_)->addstep(step);
}

ReferenceValues ReferenceRun::values()
{
  Compute *energy = modify->get_compute_by_id(energy_id_);
  Compute *pressure = modify->get_compute_by_id(virial_id_);
  ReferenceValues label;
  label.energy = energy->compute_scalar();
  pressure->compute_vector();
  const double volume = domain->xprd * domain->yprd * domain->zprd;
  for (int k = 0; k < 6; ++k) label.virial[k] = pressure->vector[k] * volume / force->nktv2p;
  const double *f = atom->nlocal ? atom->f[0] : nullptr;
  force_.assign(f, f + static_cast<std::size_t>(atom->nlocal) * 3);
  label.force = force_.data();
  return label;
}

double ReferenceRun::memory_usage() const
{
  return static_cast<double>(force_.capacity() * sizeof(double));
}
