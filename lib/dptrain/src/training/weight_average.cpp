#include "training/weight_average.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"

namespace dptrain {

WeightAverage::WeightAverage(double decay, std::shared_ptr<const Communicator> comm,
                             const std::vector<std::size_t> &parts) :
    decay_(decay), partition_(std::move(comm), parts)
{
  if (!(decay >= 0.0 && decay < 1.0))
    throw Error(fmt::format("ema_decay must be at least 0 and below 1, found {}", decay));
  if (decay_ > 0.0) mean_.assign(partition_.own(), 0.0);
}

void WeightAverage::begin(const std::vector<double> &parameters)
{
  if (decay_ == 0.0 || !empty()) return;
  std::copy_n(parameters.begin() + partition_.begin, partition_.own(), mean_.begin());
  weight_ = 1.0;
}

void WeightAverage::add(const std::vector<double> &parameters)
{
  if (decay_ == 0.0) return;
  weight_ = decay_ * weight_ + (1.0 - decay_);
  const double fraction = (1.0 - decay_) / weight_;
  const double *own = parameters.data() + partition_.begin;
  for (std::size_t k = 0; k < mean_.size(); ++k) mean_[k] += fraction * (own[k] - mean_[k]);
}

void WeightAverage::gather(std::vector<double> &average) const
{
  average.clear();
  if (!empty()) partition_.append_gathered(mean_.data(), average);
}

State WeightAverage::state() const
{
  State state;
  if (empty()) return state;
  state.set("weight", weight_);
  std::vector<double> mean;
  gather(mean);
  state.set("mean", std::move(mean));
  return state;
}

void WeightAverage::set_state(const State &state)
{
  if (!state.empty() && state.at<std::vector<double>>("mean").size() != partition_.total)
    throw Error(fmt::format("The average of the weights in the state has {} numbers, the model has "
                            "{} parameters: it belongs to another model{}",
                            state.at<std::vector<double>>("mean").size(), partition_.total,
                            checkpoint_advice()));
  if (decay_ == 0.0) return;
  weight_ = state.empty() ? 0.0 : state.at<double>("weight");
  if (state.empty())
    std::fill(mean_.begin(), mean_.end(), 0.0);
  else
    std::copy_n(state.at<std::vector<double>>("mean").begin() + partition_.begin, partition_.own(),
                mean_.begin());
}

}  // namespace dptrain
