/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <map>
#include <memory>
#include <vector>

#include "nested/nested_pair.h"
#include "reference/reference.h"

namespace LAMMPS_NS {

/// `subtract pair ...`: labels of any reference less the values of a baseline force field, which
/// hybrid/overlay adds to the model in the run. The baseline is that of the atoms at the time of
/// the request.
class ReferenceDifference : public Reference {
 public:
  ReferenceDifference(LAMMPS *lmp, std::unique_ptr<Reference> reference,
                      const PairOptions &baseline, FoldGhosts fold);

  void init() override;
  void setup() override;
  void announce(bigint step) override { reference_->announce(step); }
  dptrain::LabelSource &source() override { return source_; }
  int comm_forward() const override;
  int comm_reverse() const override;
  double memory_usage() const override;

  const NestedPair &baseline() const { return baseline_; }

 private:
  /// Subtracts the baseline of each request from its answer.
  class Source final : public dptrain::LabelSource {
   public:
    Source(ReferenceDifference &owner) : owner_(owner) {}
    bool works_beside() const override { return inner().works_beside(); }
    bool outlives_program() const override { return inner().outlives_program(); }
    /// The label of the frame is the baseline, until the answer comes.
    void prepare(dptrain::WholeFrame &frame) override;
    bool prepares() const override { return true; }
    std::int64_t submit(const dptrain::WholeFrame &frame) override;
    std::vector<dptrain::LabelAnswer> poll() override;
    void wait(double seconds) override { inner().wait(seconds); }
    void cancel(std::int64_t request) override;
    std::int64_t in_flight() const override { return inner().in_flight(); }

   private:
    dptrain::LabelSource &inner() const { return owner_.reference_->source(); }
    ReferenceDifference &owner_;
    std::map<std::int64_t, dptrain::Label> baselines_;  // of the requests
  };

  LAMMPS *lmp_;
  std::unique_ptr<Reference> reference_;
  NestedPair baseline_;
  Source source_{*this};
};

}  // namespace LAMMPS_NS
