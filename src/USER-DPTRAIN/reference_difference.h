#pragma once

#include <memory>
#include <vector>

#include "nested_pair.h"
#include "reference.h"

namespace LAMMPS_NS {

/// `subtract pair ...`: labels of any reference less the values of a baseline force field, which hybrid/overlay adds to the
/// model in the run. The baseline is that of the atoms at the time of the request.
class ReferenceDifference : public Reference, protected Pointers {
 public:
  ReferenceDifference(LAMMPS *lmp, std::unique_ptr<Reference> reference,
                      const PairOptions &baseline, FoldGhosts fold);

  void init() override;
  void setup() override;
  void announce(bigint step) override { reference_->announce(step); }
  void request() override;
  ReferenceAnswer poll() override;
  int comm_forward() const override;
  int comm_reverse() const override;
  double memory_usage() const override;

  const NestedPair &baseline() const { return baseline_; }

 private:
  std::unique_ptr<Reference> reference_;
  NestedPair baseline_;
  NestedPair::Values values_;
  std::vector<double> force_;  // [nlocal][3]: of the baseline, then of the label
};

}  // namespace LAMMPS_NS
