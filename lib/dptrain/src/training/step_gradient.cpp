#include "training/step_gradient.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/workers.h"

namespace dptrain {

namespace {

// By value: a captured pointer would be read again for each number, and nothing vectorised.
double sum_of_squares(const double *x, std::size_t n)
{
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < n; ++k) sum += x[k] * x[k];
  return sum;
}

}  // namespace

StepGradient::StepGradient(std::unique_ptr<GradientSum> sum,
                           std::shared_ptr<const Communicator> owners,
                           const std::vector<std::size_t> &parts,
                           const std::vector<ParameterBlock> &index, double max_norm) :
    sum_(std::move(sum)), partition_(std::move(owners), parts), max_norm_(max_norm)
{
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
  sum_->sum(values_.data());
  for (const auto &[begin, end] : untrained_)
    std::fill(values_.begin() + begin, values_.begin() + end, 0.0);
  return squared_norm_ = sum_squares();
}

double StepGradient::sum_squares() const
{
  const double *g = values_.data() + partition_.begin;
  constexpr std::size_t block = 65536;
  std::vector<double> sums((partition_.own() + block - 1) / block, 0.0);
  kernels::for_blocks(partition_.own(), block, [&](std::size_t begin, std::size_t end) {
    sums[begin / block] = sum_of_squares(g + begin, end - begin);
  });
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  partition_.comm->all_reduce_sum(&sum, 1);
  return sum;
}

void StepGradient::keep()
{
  kept_.resize(partition_.own(), 0.0);
  for (std::size_t k = 0; k < kept_.size(); ++k) kept_[k] += values_[partition_.begin + k];
  has_kept_ = true;
}

const std::vector<double> &StepGradient::take()
{
  if (has_kept_) {
    for (std::size_t k = 0; k < kept_.size(); ++k) values_[partition_.begin + k] += kept_[k];
    set_state({});
    if (max_norm_ > 0.0) squared_norm_ = sum_squares();
  }
  const double factor = max_norm_ / (std::sqrt(squared_norm_) + 1e-6);
  if (max_norm_ > 0.0 && factor < 1.0)
    for (std::size_t k = 0; k < partition_.own(); ++k) values_[partition_.begin + k] *= factor;
  return values_;
}

State StepGradient::state() const
{
  State state;
  if (!has_kept_) return state;
  std::vector<double> kept;
  partition_.append_gathered(kept_.data(), kept);
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
  kept_.clear();
  if (!has_kept_) return;
  const double *own = state.at<std::vector<double>>("kept").data() + partition_.begin;
  kept_.assign(own, own + partition_.own());
}

std::size_t StepGradient::memory_bytes() const
{
  return (values_.capacity() + kept_.capacity()) * sizeof(double) + sum_->memory_bytes();
}

}  // namespace dptrain
