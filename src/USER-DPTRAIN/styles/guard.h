/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nested/nested_pair.h"

namespace LAMMPS_NS {

class ForceOverride;

/// `guard INNER OUTER`: the screened repulsion of the nuclei (ZBL), beside a model that has seen
/// little.
class Guard {
 public:
  /// `elements`: of the atom types. Error where one is no chemical element.
  Guard(LAMMPS *lmp, double inner, double outer, const std::vector<std::string> &elements,
        FoldGhosts fold);

  void init() { pair_->init(); }
  void setup() { pair_->setup(); }
  /// Adds forces to the atoms and energy to thermo output; returns this rank's part of the virial.
  std::array<double, 6> add(ForceOverride &forces);

 private:
  LAMMPS *lmp_;
  std::unique_ptr<NestedPair> pair_;
};

}  // namespace LAMMPS_NS
