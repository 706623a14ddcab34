/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include "nested/nested_pair.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

/// `reference pair ...`: the labels are the values of a second force field on the atoms of this
/// run.
class ReferencePair : public Reference {
 public:
  ReferencePair(LAMMPS *lmp, const PairOptions &options, FoldGhosts fold) :
      pair_(lmp, "Fix dptrain: reference", options, std::move(fold)),
      source_(lmp, [this] { return values(); })
  {
  }

  void init() override
  {
    pair_.init();
    pair_.reach_cutoff();
  }
  void setup() override { pair_.setup(); }
  dptrain::LabelSource &source() override { return source_; }
  int comm_forward() const override { return pair_.comm_forward(); }
  int comm_reverse() const override { return pair_.comm_reverse(); }
  double memory_usage() const override { return pair_.memory_usage(); }

 private:
  ReferenceValues values()
  {
    const NestedPair::Values &found = pair_.evaluate();
    return {found.energy, found.force, found.virial};
  }

  NestedPair pair_;
  PresentSource source_;
};

}  // namespace LAMMPS_NS
