/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>
#include <vector>

#include "dptrain/base/units.h"
#include "dptrain/frames/whole_frame.h"
#include "nested/pair_options.h"

namespace LAMMPS_NS {

class LAMMPS;

/// A second force field that computes any frame: in a LAMMPS of its own, on this rank alone, which
/// lives as long as a computation. The atoms of the run are not touched.
class PairInstance {
 public:
  /// Takes over units, number of atom types and the variables in quoted arguments from the run,
  /// which must have all of them.
  PairInstance(LAMMPS *lmp, const PairOptions &options);

  /// Whether LAMMPS takes the commands: throws dptrain::Error with its message. This rank alone.
  void check() const;
  /// Energy, forces and virial of a frame. `atom_type`: by model type. Throws dptrain::Error with
  /// the message of LAMMPS. This rank alone.
  dptrain::Label compute(const dptrain::WholeFrame &frame, const std::vector<int> &atom_type) const;

 private:
  class Instance;
  LAMMPS *lmp_;  // of the run
  std::string style_;
  std::vector<std::string> commands_;  // of the force field, once there is a box
};

}  // namespace LAMMPS_NS
