/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <vector>

#include "pointers.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

/// `reference run`: the label is what this run computes anyway: forces as they are when the fix is
/// called, energy and virial of pair, bonded and kspace styles.
class ReferenceRun : public Reference, protected Pointers {
 public:
  ReferenceRun(LAMMPS *lmp, const std::string &fix_id);
  ~ReferenceRun() override;

  void announce(bigint step) override;
  dptrain::LabelSource &source() override { return source_; }
  double memory_usage() const override;

 private:
  std::string energy_id_, virial_id_;
  std::vector<double> force_;  // [nlocal][3]
  PresentSource source_;

  ReferenceValues values();
};

}  // namespace LAMMPS_NS
