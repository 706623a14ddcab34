/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include "nested/nested_pair.h"
#include "reference/reference.h"
#include "reference/reference_instance.h"

namespace LAMMPS_NS {

/// The present configuration, or any other while the run is elsewhere.
class PairSource final : public dptrain::LabelSource {
 public:
  /// `other` computes configurations that the run is not in; null: there are none.
  PairSource(LAMMPS *lmp, PresentSource::Evaluate evaluate, std::unique_ptr<InstanceSource> other) :
      present_(lmp, std::move(evaluate)), other_(std::move(other))
  {
  }
  InstanceSource *other() { return other_.get(); }

  void go_elsewhere(bool on) override
  {
    elsewhere_ = on;
    if (other_) other_->go_elsewhere(on);
  }
  std::int64_t submit(const dptrain::WholeFrame &frame) override { return now().submit(frame); }
  std::vector<dptrain::LabelAnswer> poll() override { return now().poll(); }
  void cancel(std::int64_t request) override { now().cancel(request); }
  std::int64_t in_flight() const override
  {
    return present_.in_flight() + (other_ ? other_->in_flight() : 0);
  }

 private:
  dptrain::LabelSource &now()
  {
    if (elsewhere_) return *other_;
    return present_;
  }
  PresentSource present_;
  std::unique_ptr<InstanceSource> other_;
  bool elsewhere_ = false;
};

/// `reference pair ...`: the labels are the values of a second force field on the atoms of this
/// run.
class ReferencePair : public Reference {
 public:
  /// `find_slot`: of a fix that explores; empty: of one that does not.
  ReferencePair(LAMMPS *lmp, const PairOptions &options, FoldGhosts fold, FindSlot find_slot) :
      pair_(lmp, "Fix dptrain: reference", options, std::move(fold)),
      source_(
          lmp, [this] { return values(); },
          find_slot ? std::make_unique<InstanceSource>(lmp, options, std::move(find_slot))
                    : nullptr)
  {
  }

  void init() override
  {
    pair_.init();
    pair_.reach_cutoff();
    if (source_.other()) source_.other()->init();
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
  PairSource source_;
};

}  // namespace LAMMPS_NS
