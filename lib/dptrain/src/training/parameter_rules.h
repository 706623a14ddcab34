#pragma once

#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/parameter_set.h"

namespace dptrain {

/// Says of the parameters which are trained, and returns their blocks. Throws Error where a pattern matches none of them, or
/// nothing is left to train.
const std::vector<ParameterBlock> &apply_rules(ParameterSet &parameters,
                                               const ParameterRules &rules);

/// Factors of the learning rate, applied to the steps of an optimizer.
class RateFactors {
 public:
  RateFactors(const std::vector<ParameterBlock> &index, const ParameterRules &rules);
  /// Before the optimizer's step: keeps the parameters.
  void begin(const std::vector<double> &parameters);
  /// After it: what has changed of a block becomes its factor times as much.
  void apply(std::vector<double> &parameters) const;
  std::size_t memory_bytes() const { return before_.capacity() * sizeof(double); }

 private:
  struct Range {
    std::size_t begin, end;
    double factor;
  };
  std::vector<Range> ranges_;  // those with other factors than 1
  std::vector<double> before_;
};

}  // namespace dptrain
