#pragma once

#include <memory>
#include <vector>

#include "dptrain/config.h"
#include "dptrain/model.h"

namespace dptrain {

/// Turns a gradient into a step of the parameters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Changes parameters[n] for gradient[n] at learning rate lr. Blocks that are not trainable stay as they are.
  virtual void step(std::vector<double> &parameters, const std::vector<double> &gradient,
                    double lr) = 0;
  /// All that a bit-identical continuation needs, as numbers.
  virtual std::vector<double> state() const = 0;
  /// Throws Error (and changes nothing) if the state is one of another model or optimizer.
  virtual void set_state(const std::vector<double> &state) = 0;
  virtual std::size_t memory_bytes() const = 0;
};

/// The optimizer that the configuration names, for the parameters of a model.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig &config,
                                          const std::vector<ParameterBlock> &index);

}  // namespace dptrain
