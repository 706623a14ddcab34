/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/input/baseline.h"
#include "dptrain/parallel/communicator.h"

namespace LAMMPS_NS {

class LAMMPS;

/// A second force field that computes any frame: in a LAMMPS of its own, on this rank alone, which
/// lives as long as a computation. The atoms of the run are not touched.
class PairInstance {
 public:
  /// `lmp` has the pair styles of plugins. `who` begins messages, `advice` ends those about the words.
  PairInstance(LAMMPS *lmp, const std::string &who, const std::string &advice,
               const dptrain::Baseline &words, int ntypes);

  /// The charge of each element, in elementary charges; `elements`: by atom type. Empty charges: none.
  void set_charges(const std::vector<std::string> &elements,
                   const std::map<std::string, double> &charges)
  {
    words_.elements = elements;
    words_.charges = charges;
  }
  /// Whether LAMMPS takes the commands: throws dptrain::Error with its message. This rank alone.
  void check() const;
  /// Energy, forces and virial of a frame. `atom_type`: by model type. Throws dptrain::Error with
  /// the message of LAMMPS. This rank alone.
  dptrain::Label compute(const dptrain::WholeFrame &frame, const std::vector<int> &atom_type) const;

 private:
  class Instance;
  LAMMPS *lmp_;
  std::string who_, advice_;
  dptrain::Baseline words_;
  int ntypes_;
};

/// The baseline of a potential for any frame. `type_map`: names of the types of frames. Checks the
/// words on rank 0. Collective; throws dptrain::Error on all ranks.
std::function<dptrain::Label(const dptrain::WholeFrame &)>
baseline_of_frames(LAMMPS *lmp, const dptrain::Communicator &comm,
                   const std::vector<dptrain::Baseline> &baseline,
                   const std::vector<std::string> &type_map);

}  // namespace LAMMPS_NS
