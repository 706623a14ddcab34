#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// Turns a gradient into a step of the parameters. The work and the state are divided over the ranks (Rajbhandari et
/// al., ZeRO, arXiv 1910.02054, stage 1 with divided gradients): each rank keeps the state of a contiguous range.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// [ranks] number of parameters in the range of each rank, in rank order.
  virtual const std::vector<std::size_t> &parts() const = 0;
  /// Changes parameters[n] at learning rate lr. Of gradient[n] only the own range is read. Both are in the memory of the
  /// kernels. Every rank changes its range and gets those of the others: all have the same bits afterwards. Blocks that are not
  /// trainable stay as they are. Collective; throws on all ranks.
  virtual void step(double *parameters, const double *gradient, double lr) = 0;
  /// All that a bit-identical continuation needs: the state of all ranks on each of them, of the same form for any number
  /// of ranks. Collective.
  virtual State state() const = 0;
  /// Throws Error (and changes nothing) if the state is one of another model or optimizer.
  virtual void set_state(const State &state) = 0;
  virtual std::size_t memory_bytes() const = 0;
};

/// The optimizer that the configuration names, for the parameters of a model, on the ranks of `comm`.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig &config,
                                          const std::vector<ParameterBlock> &index,
                                          std::shared_ptr<const Communicator> comm);

/// A line that names the weight matrices whose sides SOAP preconditions in blocks, since they are longer than
/// max_precondition_dim. Empty if there are none.
std::string long_sides(const OptimizerConfig &config, const std::vector<ParameterBlock> &index);

}  // namespace dptrain
