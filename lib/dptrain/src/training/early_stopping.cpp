#include "training/early_stopping.h"

#include <algorithm>
#include <cmath>

namespace dptrain {

namespace {

// measured: bench/results/length.md
constexpr std::int64_t fewest_steps = 1000;
constexpr double lowered = 0.99;

}  // namespace

void EarlyStopping::add(std::int64_t step, double error, const std::vector<double> &weights)
{
  last_step_ = step;
  last_error_ = error;
  if (std::isnan(error)) return;
  if (empty() || error < best_error_) {
    best_step_ = step;
    best_error_ = error;
    best_weights_ = weights;
  }
  if (lowered_step_ == 0 || error < lowered * lowered_error_) {
    lowered_step_ = step;
    lowered_error_ = error;
  }
}

bool EarlyStopping::is_over() const
{
  return !empty() && last_step_ - lowered_step_ >= std::max(fewest_steps, lowered_step_ / 2);
}

}  // namespace dptrain
