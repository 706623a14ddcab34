/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <array>
#include <vector>

#include "adapter/dptrain_adapter.h"
#include "pointers.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

class PairDPTrain;

/// Puts other forces, energy and virial in the place of what pair style dptrain has added at this
/// step, whatever else acts on the atoms. Owned by a fix, whose virial is corrected by what
/// virial_change() says.
///
/// The energy: LAMMPS' own means for a fix (fix_modify energy) would add the scalar of the fix,
/// which is the loss, and would leave the model's energy in `epair`, `evdwl` and `compute pe pair`
/// while the reference moves the atoms. So the sum of the pair style is corrected.
class ForceOverride : protected Pointers {
 public:
  ForceOverride(LAMMPS *lmp, PairDPTrain *pair, const UnitFactors &units, FoldGhosts fold);

  /// A new step, whose forces the pair style has added; `trial`: a move that a fix tries, which
  /// always asks for the energy.
  void begin(bool trial = false);
  /// Keeps what the pair style has added, before it evaluates the model again.
  void keep();
  /// Forces of the owned atoms [nlocal][3], this rank's part of the energy, and virial (xx yy zz xy
  /// xz yz; null: that of the model stays), all in LAMMPS units.
  void replace(const double *force, double energy, const double *virial);
  /// The model's own, of its latest evaluation.
  void replace_by_model();
  /// Adds to the potential energy in thermo output, this rank's part.
  void add_energy(double change);
  /// What the virial of the run has to change by, this rank's part: xx yy zz xy xz yz.
  const std::array<double, 6> &virial_change() const { return virial_change_; }
  double memory_usage() const;

 private:
  void apply(const double *owned, const double *model, double energy, const double *virial);

  PairDPTrain *pair_;
  UnitFactors units_;
  FoldGhosts fold_;
  bool kept_ = false, trial_ = false;
  std::vector<double> before_;  // [nall][3] eV/Angstrom, what the pair style has added
  std::vector<double> change_;  // [nall][3] forces, what they become minus that
  std::array<double, 6> virial_change_{};
};

}  // namespace LAMMPS_NS
