/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pointers.h"

namespace LAMMPS_NS {

/// All that a run between two forces goes on from: each rank's atoms with all that they own, as
/// they travel between ranks, the box, and what fixes would write to a restart file. Step, time,
/// and random numbers of fixes without restart data go on.
class RunState {
 public:
  /// The present state, at the hook `pre_force` of a step. Collective.
  explicit RunState(LAMMPS *lmp);
  /// Puts it in the place of the present state, at the hook `pre_exchange` of a step of the same
  /// run: LAMMPS then makes ghosts and neighbor lists. Collective.
  void restore(LAMMPS *lmp) const;

 private:
  void save_atoms(LAMMPS *lmp);
  void restore_box(LAMMPS *lmp) const;
  void restore_atoms(LAMMPS *lmp) const;
  static void restore_fix(LAMMPS *lmp, const std::string &id, std::vector<char> data);

  double low_[3], high_[3], tilt_[3];  // of the box, tilt: xy xz yz
  int owners_;                         // fixes that keep something with the atoms
  std::vector<double> atoms_;          // one record after the other
  std::vector<std::pair<std::string, std::vector<char>>> fixes_;  // by id; bytes on rank 0
};

/// Whether a fix has restart data that go back with a run: not statistics over the time of the run,
/// nor what LAMMPS keeps for itself.
bool has_run_state(const class Fix *fix);

}  // namespace LAMMPS_NS
