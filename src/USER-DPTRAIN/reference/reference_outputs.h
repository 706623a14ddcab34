/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pointers.h"
#include "reference/reference.h"
#include "reference/value_source.h"

namespace LAMMPS_NS {

class FixArguments;

/// What `reference values energy SRC forces SRC [SRC SRC] [virial SRC | pressure SRC] end` says.
struct ValuesOptions {
  std::string energy;
  std::vector<std::string> forces;  ///< one array or three columns
  std::string virial;               ///< empty: none
  bool pressure = false;            ///< the virial is given as pressure
};

/// Reads what follows `values`, up to and with `end`.
ValuesOptions read_values_options(FixArguments &arguments);

/// `reference values ...`: the labels are values of fixes, computes and variables.
class ReferenceOutputs : public Reference, protected Pointers {
 public:
  /// `fix_id`: of the fix that owns this. `every_step`: any step may need a label.
  ReferenceOutputs(LAMMPS *lmp, const std::string &fix_id, const ValuesOptions &options,
                   bool every_step);

  void init() override;
  void announce(bigint step) override;
  dptrain::LabelSource &source() override { return source_; }
  double memory_usage() const override;

  bool has_virial() const { return virial_ != nullptr; }

 private:
  std::string fix_id_;
  ValueSource energy_;
  std::vector<ValueSource> forces_;
  std::unique_ptr<ValueSource> virial_;
  bool pressure_, every_step_;
  std::vector<double> force_;  // [nlocal][3]
  PresentSource source_;

  ReferenceValues values();
  void check_time(const ValueSource &source) const;
};

}  // namespace LAMMPS_NS
