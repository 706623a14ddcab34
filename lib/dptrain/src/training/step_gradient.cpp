#include "training/step_gradient.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/runtime.h"
#include "kernels/vectors.h"

namespace dptrain {

StepGradient::StepGradient(std::unique_ptr<GradientSum> sum,
                           std::shared_ptr<const Communicator> owners,
                           const std::vector<std::size_t> &parts,
                           const std::vector<ParameterBlock> &index, double max_norm) :
    sum_(std::move(sum)), partition_(std::move(owners), parts), max_norm_(max_norm)
{
  ensure_runtime();
  parts_.resize(kernels::most_parts(size()));  // here: a step must not fail on one rank alone
  if (max_norm_ <= 0.0) return;
  const std::size_t first = partition_.begin, last = first + partition_.own();
  for (const ParameterBlock &block : index) {
    const std::size_t begin = std::max(block.offset, first);
    const std::size_t end = std::min(block.offset + block.size, last);
    if (!block.trainable && begin < end) untrained_.emplace_back(begin, end);
  }
}

double StepGradient::reduce()
{
  sum_->sum(values_);
  for (const auto &[begin, end] : untrained_)
    kernels::clear(values_.data() + begin, (end - begin) * sizeof(double));
  return squared_norm_ = sum_squares();
}

double StepGradient::sum_squares()
{
  double sum = kernels::sum_of_squares(own(), size(), parts_);
  partition_.comm->all_reduce_sum(&sum, 1);
  return sum;
}

void StepGradient::keep()
{
  if (!has_kept_) guarded(*partition_.comm, [&] { kept_.resize_clear(partition_.own()); });
  kernels::add_values(own(), size(), kept_.data());
  has_kept_ = true;
}

const double *StepGradient::take()
{
  if (has_kept_) {
    kernels::add_values(kept_.data(), size(), own());
    has_kept_ = false;
    if (max_norm_ > 0.0) squared_norm_ = sum_squares();
  }
  const double factor = max_norm_ / (std::sqrt(squared_norm_) + 1e-6);
  if (max_norm_ > 0.0 && factor < 1.0) kernels::scale_values(factor, size(), own());
  return values_.data();
}

State StepGradient::state() const
{
  State state;
  if (!has_kept_) return state;
  std::vector<double> kept;
  partition_.append_gathered(kept_.to_host().data(), kept);
  state.set("kept", std::move(kept));
  return state;
}

void StepGradient::set_state(const State &state)
{
  if (!state.empty() && state.at<std::vector<double>>("kept").size() != partition_.total)
    throw Error(fmt::format("The gradient in the state has {} numbers, the model has {} "
                            "parameters: it belongs to another model{}",
                            state.at<std::vector<double>>("kept").size(), partition_.total,
                            checkpoint_advice()));
  has_kept_ = !state.empty();
  if (has_kept_)
    kept_.copy_from(state.at<std::vector<double>>("kept").data() + partition_.begin,
                    partition_.own());
}

std::size_t StepGradient::memory_bytes() const
{
  return values_.memory_bytes() + kept_.memory_bytes() + parts_.memory_bytes() +
         sum_->memory_bytes();
}

}  // namespace dptrain
