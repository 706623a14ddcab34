#pragma once

#include <memory>
#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/parallel/communicator.h"
#include "kernels/memory.h"
#include "optimizer/partition.h"

namespace dptrain {

/// Exponential moving average of the parameters, with the bias correction of its start: after t steps
/// sum_k d^(t-k) (1-d) w_k / (1 - d^t). The running mean is divided over the ranks.
class WeightAverage {
 public:
  /// decay = 0: no average. parts[ranks]: lengths of the contiguous ranges.
  WeightAverage(double decay, std::shared_ptr<const Communicator> comm,
                const std::vector<std::size_t> &parts);
  /// The average is these parameters, with the full weight: it needs no correction then.  Nothing if it has content.
  void begin(const std::vector<double> &parameters);
  /// Takes up the parameters after a step, in the memory of the kernels.
  void add(const double *parameters);
  /// True if there is nothing to show: no average is kept, or no step was taken up.
  bool empty() const { return weight_ == 0.0; }
  /// Replaces the content of `average` by the average of all parameters. Collective.
  void gather(std::vector<double> &average) const;

  /// Sum of the weights and the average; nothing where empty. Collective.
  State state() const;
  /// An empty state starts again; a state is ignored where no average is kept. Throws on another length.
  void set_state(const State &state);
  std::size_t memory_bytes() const { return mean_.memory_bytes(); }

 private:
  double decay_, weight_ = 0.0;
  Partition partition_;
  kernels::Array<double> mean_;  // of the own range
};

}  // namespace dptrain
