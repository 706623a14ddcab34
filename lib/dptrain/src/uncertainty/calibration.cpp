#include "dptrain/uncertainty/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dptrain/base/error.h"

namespace dptrain {

namespace {

// Weight of a comparison in relation to the next one: about ten count.
constexpr double kept_share = 0.9;

// Ranks from 0; equal numbers get their mean.
std::vector<double> ranks(const std::vector<double> &values)
{
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t k = begin; k < end; ++k)
      result[order[k]] = 0.5 * static_cast<double>(begin + end - 1);
    begin = end;
  }
  return result;
}

}  // namespace

Calibration::Calibration(const std::vector<double> &state)
{
  if (state.empty()) return;
  const auto is_good = [](double number) { return std::isfinite(number) && number >= 0.0; };
  if (state.size() != 3 || !std::all_of(state.begin(), state.end(), is_good))
    throw Error("The calibration of the uncertainty is damaged: it must be three positive numbers; "
                "copy the file again");
  squares_ = state[0];
  weights_ = state[1];
  count_ = static_cast<std::int64_t>(state[2]);
}

void Calibration::add(const Comparison &c)
{
  ++count_;
  if (!(c.score > 0.0) || !std::isfinite(c.score) || !std::isfinite(c.max_error)) return;
  const double ratio = c.max_error / c.score;
  squares_ = kept_share * squares_ + ratio * ratio;
  weights_ = kept_share * weights_ + 1.0;
}

double Calibration::scale() const
{
  return weights_ > 0.0 ? std::sqrt(squares_ / weights_) : 0.0;
}

std::vector<double> Calibration::state() const
{
  if (count_ == 0) return {};
  return {squares_, weights_, static_cast<double>(count_)};
}

double rank_correlation(const std::vector<double> &a, const std::vector<double> &b)
{
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = 0.5 * (static_cast<double>(x.size()) - 1.0);
  double xx = 0.0, xy = 0.0, yy = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xx += (x[k] - mean) * (x[k] - mean);
    xy += (x[k] - mean) * (y[k] - mean);
    yy += (y[k] - mean) * (y[k] - mean);
  }
  return xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : 0.0;
}

}  // namespace dptrain
