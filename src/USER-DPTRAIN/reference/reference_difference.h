/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "nested/baseline_pairs.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

/// Labels of any reference less the values of the baseline of the potential, which its pair style
/// adds in the run. The baseline is that of the configuration of the request.
class ReferenceDifference : public Reference {
 public:
  /// Lives no longer than `reference`. `elements`: by atom type. `any_frame`: requests may be about
  /// configurations that are not the atoms of the run.
  ReferenceDifference(LAMMPS *lmp, Reference &reference, const ModelInUse &slot, FoldGhosts fold,
                      bool any_frame);

  void init() override;
  void setup() override;
  void announce(bigint step) override { reference_.announce(step); }
  dptrain::LabelSource &source() override { return source_; }
  int comm_forward() const override;
  int comm_reverse() const override;
  double memory_usage() const override;

 private:
  /// Subtracts the baseline of each request from its answer.
  class Source final : public dptrain::LabelSource {
   public:
    Source(ReferenceDifference &owner) : owner_(owner) {}
    bool works_beside() const override { return inner().works_beside(); }
    bool outlives_program() const override { return inner().outlives_program(); }
    void prepare(dptrain::WholeFrame &frame) override;
    bool prepares() const override { return true; }
    std::int64_t submit(const dptrain::WholeFrame &frame) override;
    std::vector<dptrain::LabelAnswer> poll() override;
    void wait(double seconds) override { inner().wait(seconds); }
    void cancel(std::int64_t request) override;
    std::int64_t in_flight() const override { return inner().in_flight(); }

   private:
    dptrain::LabelSource &inner() const { return owner_.reference_.source(); }
    ReferenceDifference &owner_;
    std::map<std::int64_t, dptrain::Label> baselines_;  // of the requests
  };

  LAMMPS *lmp_;
  Reference &reference_;
  std::optional<BaselinePairs> present_;                            // of the atoms of the run
  std::function<dptrain::Label(const dptrain::WholeFrame &)> any_;  // of other frames
  Source source_{*this};
};

}  // namespace LAMMPS_NS
