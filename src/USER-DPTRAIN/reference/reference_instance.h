/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "dptrain/models/model_in_use.h"
#include "nested/pair_options.h"
#include "reference/pair_instance.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

/// Labels of any frames by a second force field. The ranks share the frames that have been asked
/// for, each computing whole ones. What LAMMPS does not accept is an Error of poll() on all ranks,
/// not a missing label: it will not accept the next frame either.
class InstanceSource final : public dptrain::LabelSource {
 public:
  /// Finds the model, whose types those of the frames are.
  using FindSlot = std::function<const dptrain::ModelInUse &()>;
  InstanceSource(LAMMPS *lmp, const PairOptions &options, FindSlot find_slot);

  /// At the start of each run, when the charges of its atoms are known. Error where two atom types are of one element: a frame
  /// does not know which is which.
  void init();

  /// A frame that LAMMPS does not accept is a missing label then.
  void go_elsewhere(bool on) override { may_fail_ = on; }

  std::int64_t submit(const dptrain::WholeFrame &frame) override;
  std::vector<dptrain::LabelAnswer> poll() override;
  void cancel(std::int64_t request) override;
  std::int64_t in_flight() const override { return static_cast<std::int64_t>(waiting_.size()); }

 private:
  void check_types() const;
  void take_charges();
  using Request = std::pair<std::int64_t, dptrain::WholeFrame>;
  dptrain::LabelAnswer compute(const Request &request) const;

  LAMMPS *lmp_;
  std::shared_ptr<const dptrain::Communicator> comm_;
  PairInstance instance_;
  FindSlot find_slot_;
  bool has_kspace_;
  std::int64_t submitted_ = 0;
  std::vector<Request> waiting_;
  bool may_fail_ = false;
};

/// `reference pair ...` for frames that are not the atoms of this run: cut-outs.
class ReferenceInstance : public Reference {
 public:
  ReferenceInstance(LAMMPS *lmp, const PairOptions &options, InstanceSource::FindSlot find_slot) :
      source_(lmp, options, std::move(find_slot))
  {
  }
  void init() override { source_.init(); }
  dptrain::LabelSource &source() override { return source_; }

 private:
  InstanceSource source_;
};

}  // namespace LAMMPS_NS
