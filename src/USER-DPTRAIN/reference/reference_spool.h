/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>

#include "dptrain/labels/spool_source.h"
#include "pointers.h"
#include "reference/program_options.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

/// `reference spool FOLDER ... end`: whoever answers the files in the folder computes the labels.
class ReferenceSpool : public Reference, protected Pointers {
 public:
  /// Opens the folder, or makes it. Collective.
  ReferenceSpool(LAMMPS *lmp, const SpoolOptions &options, FindSlot find_slot);

  void init() override;
  dptrain::LabelSource &source() override { return *source_; }

 private:
  bool virial_;
  FindSlot find_slot_;
  std::unique_ptr<dptrain::SpoolSource> source_;
};

}  // namespace LAMMPS_NS
