/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "nested/ghost_cutoff.h"

#include <algorithm>

#include "comm.h"
#include "lammps.h"

using namespace LAMMPS_NS;

std::shared_ptr<GhostCutoff> GhostCutoff::of(LAMMPS *lmp)
{
  static std::map<LAMMPS *, std::weak_ptr<GhostCutoff>> all;
  std::shared_ptr<GhostCutoff> cutoff = all[lmp].lock();
  if (!cutoff) all[lmp] = cutoff = std::make_shared<GhostCutoff>(lmp);
  return cutoff;
}

void GhostCutoff::need(const void *who, double distance)
{
  double &current = lmp_->comm->cutghostuser;
  // a value that is not the one set here comes from a comm_modify command
  if (current != raised_) user_ = current;
  if (distance > 0.0)
    needs_[who] = distance;
  else
    needs_.erase(who);
  raised_ = user_;
  for (const auto &[whose, need] : needs_) raised_ = std::max(raised_, need);
  current = raised_;
}
