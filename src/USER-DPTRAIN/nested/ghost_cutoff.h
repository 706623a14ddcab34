/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <map>
#include <memory>

namespace LAMMPS_NS {

class LAMMPS;

/// The ghost cutoff of a LAMMPS instance: the larger of what comm_modify says and of what second
/// pair styles need. They share one object, because they change one number.
class GhostCutoff {
 public:
  explicit GhostCutoff(LAMMPS *lmp) : lmp_(lmp) {}

  /// The object of this instance; it lives as long as somebody holds it.
  static std::shared_ptr<GhostCutoff> of(LAMMPS *lmp);

  /// `who` needs ghost atoms up to this distance (length units), in place of what it needed before;
  /// 0: none beyond those of the run.
  void need(const void *who, double distance);

 private:
  LAMMPS *lmp_;
  std::map<const void *, double> needs_;
  double user_ = 0.0;     // of comm_modify cutoff
  double raised_ = -1.0;  // what was made of it; no cutoff is negative
};

}  // namespace LAMMPS_NS
