#pragma once

#include <memory>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// Tells the model which of its parameters are trained, and returns it. Throws Error where a pattern matches none of them,
/// or nothing is left to train.
std::shared_ptr<Model> with_rules(std::shared_ptr<Model> model, const ParameterRules &rules);

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
