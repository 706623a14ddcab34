/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nested/pair_options.h"
#include "pointers.h"

namespace LAMMPS_NS {

class KSpace;

/// The kspace style of a second force field. All but the constructor must run while Force holds
/// this style and its pair style (ForceSwap).
class NestedKSpace : protected Pointers {
 public:
  /// Creates the style and reads the arguments of its kspace_style and kspace_modify commands.
  /// `who` begins messages.
  NestedKSpace(LAMMPS *lmp, const std::string &who, const PairOptions &options);
  ~NestedKSpace() override;

  KSpace *style() const { return kspace_.get(); }
  const std::string &style_name() const { return style_name_; }

  /// The words of a kspace_modify command.
  void modify(const std::string &words);
  /// At the start of each run, before its pair style is initialized.
  void init();
  /// When the box is that of the run.
  void setup();
  /// Adds forces to atom->f, makes energy and virial of the whole system: the same on all ranks,
  /// and what else eflag and vflag ask for. Follows a box and subdomains that have changed, and
  /// charges. Returns whether there is anything to compute.
  bool compute(int eflag, int vflag);
  double memory_usage() const;

 private:
  std::string who_, style_name_;
  std::unique_ptr<KSpace> kspace_;
  std::vector<double> box_, division_;  // of the last setup
  std::vector<double> x_;               // [nlocal][3]

  std::vector<double> box() const;
  std::vector<double> division() const;
  void follow_box();
};

}  // namespace LAMMPS_NS
