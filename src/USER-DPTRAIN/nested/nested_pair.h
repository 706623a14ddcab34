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
/// atoms, ghosts and neighbor cycle of this run. Owned by a fix, which evaluates it beside the
/// forces of the run, or by a pair style, which adds it to its own. The owner calls init() from its
/// init function, and gives its own communication the sizes of comm_forward() and comm_reverse().
/// All functions are collective.
class NestedPair : protected Pointers {
 public:
  /// In LAMMPS units; `force` [nall][3] has those of the owned atoms complete, and is valid until
  /// the next evaluate().
  struct Values {
    double energy = 0.0;             ///< of the whole system, same value on all ranks
    const double *force = nullptr;   ///< [nlocal][3] of the owned atoms
    std::array<double, 6> virial{};  ///< of the whole system: xx yy zz xy xz yz, ditto
  };

  /// Creates the styles and reads their coefficients. `who` begins messages. Errors for styles
  /// that need what a second style cannot have. `fold` is needed for evaluate().
  NestedPair(LAMMPS *lmp, const std::string &who, const PairOptions &options, FoldGhosts fold);
  ~NestedPair() override;

  void init();
  /// After init(), where the cutoff of the run's pair style does not cover this one: asks for lists
  /// and ghosts that do.
  void reach_cutoff();
  void setup();
  /// Its values; the forces of the run stay as they are.
  const Values &evaluate();
  /// In the compute() of a pair style, with its arguments, after ev_init(): adds forces, energies
  /// and virials to those of that style.
  void add_to(Pair &pair, int eflag, int vflag);
  /// Of two atom types, after init(); length units.
  double cutoff(int i, int j) const;
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
  std::vector<double> saved_, force_;  // [nall][3]; those of the run, and the sum of the styles
  Values values_;

  class ForceSwap swap_in(const PairSet::Part &part) const;
  void find_long_range();
  void check_special_bonds() const;
  template <class Add> void compute(int eflag, int vflag, const Add &add);
  bool looks_further(const PairSet::Part &part) const;
};

}  // namespace LAMMPS_NS
