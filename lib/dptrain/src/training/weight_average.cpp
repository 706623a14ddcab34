#include "training/weight_average.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "kernels/runtime.h"
#include "kernels/vectors.h"

namespace dptrain {

WeightAverage::WeightAverage(double decay, std::shared_ptr<const Communicator> comm,
                             const std::vector<std::size_t> &parts) :
    decay_(decay), partition_(std::move(comm), parts)
{
  if (!(decay >= 0.0 && decay < 1.0))
    throw Error(fmt::format("ema_decay must be at least 0 and below 1, found {}", decay));
  if (decay_ == 0.0) return;
  ensure_runtime();
  mean_.resize_clear(partition_.own());
}

void WeightAverage::begin(const std::vector<double> &parameters)
{
  if (decay_ == 0.0 || !empty()) return;
  mean_.copy_from(parameters.data() + partition_.begin, partition_.own());
  weight_ = 1.0;
}

void WeightAverage::add(const double *parameters)
{
  if (decay_ == 0.0) return;
  weight_ = decay_ * weight_ + (1.0 - decay_);
  kernels::move_toward(parameters + partition_.begin, (1.0 - decay_) / weight_,
                       static_cast<long>(partition_.own()), mean_.data());
}

void WeightAverage::gather(std::vector<double> &average) const
{
  average.clear();
  if (!empty()) partition_.append_gathered(mean_.to_host().data(), average);
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
    mean_.resize_clear(partition_.own());
  else
    mean_.copy_from(state.at<std::vector<double>>("mean").data() + partition_.begin,
                    partition_.own());
}

}  // namespace dptrain
