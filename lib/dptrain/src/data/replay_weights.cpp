#include "data/replay_weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr std::size_t latest_frames = 4;
constexpr double latest_share = 0.25;
constexpr double largest_weight = 3.0;  // of a frame, in means

}  // namespace

void ReplayWeights::add(std::int64_t place)
{
  if (place >= static_cast<std::int64_t>(errors_.size())) errors_.resize(place + 1, -1.0);
  errors_[place] = -1.0;
  latest_.erase(std::remove(latest_.begin(), latest_.end(), place), latest_.end());
  latest_.push_back(place);
  if (latest_.size() > latest_frames) latest_.erase(latest_.begin());
}

void ReplayWeights::set_error(std::int64_t place, double error)
{
  errors_.at(place) = std::isfinite(error) ? error : -1.0;
}

std::vector<double> ReplayWeights::weights() const
{
  double sum = 0.0;
  std::int64_t known = 0;
  for (const double error : errors_)
    if (error >= 0.0) {
      sum += error;
      ++known;
    }
  const double mean = sum > 0.0 ? sum / static_cast<double>(known) : 1.0;
  std::vector<double> result;
  for (const double error : errors_)
    result.push_back(error < 0.0 ? largest_weight
                                 : std::clamp(error / mean, 1.0 / largest_weight, largest_weight));
  return result;
}

std::vector<std::int64_t> ReplayWeights::draw(int batch_size)
{
  if (errors_.empty()) throw Error("Training needs at least one labeled frame: there is none yet");
  const std::vector<double> weight = weights();
  const double total = std::accumulate(weight.begin(), weight.end(), 0.0);
  const std::size_t wanted = std::min<std::size_t>(std::max(batch_size, 1), errors_.size());
  std::vector<std::int64_t> batch;
  while (batch.size() < wanted) {
    RandomEngine random = numbered_engine(seed_, draws_++);
    std::int64_t place = 0;
    if (random_uniform(random) < latest_share) {
      place = latest_[random_index(random, latest_.size())];
    } else {
      double left = total * random_uniform(random);
      while (place + 1 < static_cast<std::int64_t>(weight.size()) && left >= weight[place])
        left -= weight[place++];
    }
    if (std::find(batch.begin(), batch.end(), place) == batch.end()) batch.push_back(place);
  }
  return batch;
}

std::string ReplayWeights::damage() const
{
  const auto frames = static_cast<std::int64_t>(errors_.size());
  if (draws_ < 0 || latest_.size() > latest_frames) return "there are too many latest frames";
  for (const std::int64_t place : latest_)
    if (place < 0 || place >= frames) return "it names a frame that it does not have";
  return "";
}

}  // namespace dptrain
