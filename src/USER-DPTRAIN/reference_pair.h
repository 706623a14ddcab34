#pragma once

#include "nested_pair.h"
#include "reference.h"

namespace LAMMPS_NS {

/// `reference pair ...`: the labels are the values of a second force field on the atoms of this run.
class ReferencePair : public Reference, protected Pointers {
 public:
  ReferencePair(LAMMPS *lmp, const PairOptions &options, FoldGhosts fold) :
      Pointers(lmp), pair_(lmp, "reference", options, std::move(fold))
  {
  }

  void init() override { pair_.init(); }
  void setup() override { pair_.setup(); }
  void request() override;
  ReferenceAnswer poll() override;
  int comm_forward() const override { return pair_.comm_forward(); }
  int comm_reverse() const override { return pair_.comm_reverse(); }
  double memory_usage() const override { return pair_.memory_usage(); }

 private:
  NestedPair pair_;
  ReferenceAnswer answer_;
};

}  // namespace LAMMPS_NS
