#include "dptrain/uncertainty/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

std::string Calibration::damage() const
{
  const auto is_good = [](double number) { return std::isfinite(number) && number >= 0.0; };
  return is_good(squares_) && is_good(weights_) && count_ >= 0
             ? ""
             : "a number is negative or not finite";
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
