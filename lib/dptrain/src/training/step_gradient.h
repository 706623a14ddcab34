#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "kernels/memory.h"
#include "optimizer/partition.h"
#include "training/gradient_sum.h"

namespace dptrain {

/// The gradient of an optimizer step: the sum over the ranks and over the batches of the step, of which each rank has the
/// part that it steps with. In the memory of the kernels.
class StepGradient {
 public:
  /// owners, parts: the ranks that divide the optimizer's work, and their parts. max_norm: the length beyond which a
  /// gradient is shortened; 0: never.
  StepGradient(std::unique_ptr<GradientSum> sum, std::shared_ptr<const Communicator> owners,
               const std::vector<std::size_t> &parts, const std::vector<ParameterBlock> &index,
               double max_norm);

  /// [number of parameters] where pass B puts this rank's share of the gradient of a batch.
  kernels::Array<double> &batch() { return values_; }
  /// Each rank gets the sum over the ranks of its own part. Returns the square of the length of the whole sum, the same on
  /// all ranks; where lengths are limited, blocks that are not trained do not count. Collective.
  double reduce();
  /// Keeps what reduce() has summed for a later batch of the same step.
  void keep();
  /// The gradient of the step, of which the own part is valid: what reduce() has summed and what was kept. A longer one is
  /// shortened as by torch.nn.utils.clip_grad_norm_: multiplied by max_norm / (length + 1e-6), where that is below 1.
  /// Collective.
  const double *take();

  /// What was kept, of all ranks; empty if nothing was. Collective.
  State state() const;
  /// An empty state starts again. Throws Error on another length.
  void set_state(const State &state);
  std::size_t memory_bytes() const;

 private:
  double sum_squares();
  double *own() { return values_.data() + partition_.begin; }
  long size() const { return static_cast<long>(partition_.own()); }

  std::unique_ptr<GradientSum> sum_;
  Partition partition_;
  std::vector<std::pair<std::size_t, std::size_t>> untrained_;  // ranges within the own part
  double max_norm_, squared_norm_ = 0.0;
  kernels::Array<double> values_, kept_, parts_;
  bool has_kept_ = false;  // the same on all ranks
};

}  // namespace dptrain
