/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "adapter/dptrain_adapter.h"
#include "nested/ghost_cutoff.h"
#include "nested/nested_kspace.h"
#include "nested/pair_set.h"
#include "pointers.h"

namespace LAMMPS_NS {

/// A second force field (pair styles, and a kspace style where they need one), evaluated on the
/// atoms, ghosts and neighbor cycle of this run without touching its forces. Owned by a fix, which
/// calls init() from Fix::init and setup() from Fix::setup, and gives its own communication the
/// sizes of comm_forward() and comm_reverse(). All functions are collective.
class NestedPair : protected Pointers {
 public:
  /// In LAMMPS units; `force` [nall][3] has those of the owned atoms complete, and is valid until
  /// the next evaluate().
  struct Values {
    double energy = 0.0;             ///< of the whole system, same value on all ranks
    const double *force = nullptr;   ///< [nlocal][3] of the owned atoms
    std::array<double, 6> virial{};  ///< of the whole system: xx yy zz xy xz yz, ditto
  };

  /// Creates the styles and reads their coefficients. `who` is the keyword of the fix, for
  /// messages. Errors for styles that need what a second style cannot have.
  NestedPair(LAMMPS *lmp, const std::string &who, const PairOptions &options, FoldGhosts fold);
  ~NestedPair() override;

  void init();
  void setup();
  const Values &evaluate();
  /// Names of the pair styles, without the name of a hybrid style.
  std::vector<std::string> style_names() const;
  bool has_kspace() const { return kspace_ != nullptr; }
  int comm_forward() const;
  int comm_reverse() const;
  double memory_usage() const;

 private:
  PairSet set_;
  std::unique_ptr<NestedKSpace> kspace_;
  PairSet::Part *long_range_ = nullptr;  // the part that the kspace style belongs to
  std::shared_ptr<GhostCutoff> ghosts_;
  FoldGhosts fold_;
  bool run_asked_ = false;  // for neighbor lists, at the last init
  bool set_up_ = false;
  std::vector<double> saved_, force_;  // [nall][3]
  Values values_;

  class ForceSwap swap_in(const PairSet::Part &part) const;
  void find_long_range();
  void check_special_bonds() const;
  void add_tails();
  bool looks_further(const PairSet::Part &part) const;
  void reach_cutoff();
};

}  // namespace LAMMPS_NS
