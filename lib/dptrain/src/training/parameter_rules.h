#pragma once

#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/parameter_set.h"
#include "kernels/memory.h"

namespace dptrain {

/// Says of the parameters which are trained, and returns their blocks. Throws Error where a pattern matches none of them, or
/// nothing is left to train.
const std::vector<ParameterBlock> &apply_rules(ParameterSet &parameters,
                                               const ParameterRules &rules);

/// Factors of the learning rate, applied to the steps of an optimizer. Parameters are in the memory of the kernels.
class RateFactors {
 public:
  RateFactors(const std::vector<ParameterBlock> &index, const ParameterRules &rules);
  /// Before the optimizer's step: keeps the parameters.
  void begin(const double *parameters);
  /// After it: what has changed of a block becomes its factor times as much.
  void apply(double *parameters);
  std::size_t memory_bytes() const { return before_.memory_bytes(); }

 private:
  struct Range {
    std::size_t begin, end;
    double factor;
  };
  std::vector<Range> ranges_;      // those with other factors than 1
  kernels::Array<double> before_;  // of the ranges, one after the other
};

}  // namespace dptrain
