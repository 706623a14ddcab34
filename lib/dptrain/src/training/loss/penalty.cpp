#include "training/loss/penalty.h"

#include <cmath>

namespace dptrain {

double Penalty::value(double x) const
{
  if (function == LossFunction::mse) return x * x;
  if (function == LossFunction::mae) return std::fabs(x);
  return std::fabs(x) <= delta ? 0.5 * x * x : delta * (std::fabs(x) - 0.5 * delta);
}

double Penalty::slope(double x) const
{
  if (function == LossFunction::mse) return 2.0 * x;
  const double sign = static_cast<double>((x > 0.0) - (x < 0.0));
  if (function == LossFunction::mae) return sign;
  return std::fabs(x) <= delta ? x : delta * sign;
}

ExtensivePenalty::ExtensivePenalty(const LossConfig &config, double delta, std::int64_t natoms) :
    penalty_{config.function, delta}, factor_(1.0), scale_(1.0)
{
  const double n = static_cast<double>(natoms);
  const bool squared = config.function == LossFunction::mse && config.intensive_ener_virial;
  if (config.function == LossFunction::huber)
    scale_ = 1.0 / n;
  else
    factor_ = 1.0 / (squared ? n * n : n);
}

}  // namespace dptrain
