/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/input/baseline.h"
#include "nested/nested_pair.h"
#include "pointers.h"

namespace LAMMPS_NS {

/// The baseline of a potential on the atoms of this run. Functions as those of NestedPair.
class BaselinePairs : protected Pointers {
 public:
  /// `who` begins messages; `elements`: by atom type of this run. Errors for another units style,
  /// atom types that the baseline does not know, and atoms without charges.
  BaselinePairs(LAMMPS *lmp, const std::string &who, const std::vector<dptrain::Baseline> &baseline,
                const std::vector<std::string> &elements, const FoldGhosts &fold = {});

  /// Errors for charges that are not those of the baseline.
  void init();
  void reach_cutoff();
  void setup();
  const NestedPair::Values &evaluate();
  void add_to(Pair &pair, int eflag, int vflag);
  double cutoff(int i, int j) const;
  /// Whether it was made of this.
  bool is_of(const std::vector<dptrain::Baseline> &baseline,
             const std::vector<std::string> &elements) const
  {
    return baseline == baseline_ && elements == elements_;
  }
  /// Names of the pair styles, without the name of a hybrid style.
  std::vector<std::string> style_names() const;
  int comm_forward() const;
  int comm_reverse() const;
  double memory_usage() const;

 private:
  std::string who_;
  std::vector<dptrain::Baseline> baseline_;
  std::vector<std::string> elements_;
  std::vector<std::unique_ptr<NestedPair>> pairs_;
  std::vector<double> force_;
  NestedPair::Values values_;

  void check_charges(const dptrain::Baseline &baseline) const;
};

}  // namespace LAMMPS_NS
