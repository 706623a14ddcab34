#include "training/loss.h"

namespace dptrain {

Prefactors prefactors_at(const LossConfig &config, double lr, double start_lr)
{
  const double fraction = lr / start_lr;
  const auto at = [fraction](double start, double limit) {
    return start != 0.0 && limit != 0.0 ? limit + (start - limit) * fraction : 0.0;
  };
  return {at(config.start_pref_e, config.limit_pref_e),
          at(config.start_pref_f, config.limit_pref_f),
          at(config.start_pref_v, config.limit_pref_v)};
}

double energy_term(double weight, std::int64_t natoms, double error, double &derivative)
{
  derivative = 2.0 * weight * error / natoms;
  return weight * error * error / natoms;
}

double virial_term(double weight, std::int64_t natoms, const std::array<double, 9> &error,
                   std::array<double, 9> &derivative)
{
  const double scale = weight / (9.0 * natoms);
  double squares = 0.0;
  for (int k = 0; k < 9; ++k) {
    derivative[k] = 2.0 * scale * error[k];
    squares += error[k] * error[k];
  }
  return scale * squares;
}

double force_term(double weight, std::int64_t natoms, std::size_t n, const double *label,
                  double *force, double &sum_of_squares)
{
  const double scale = weight / (3.0 * natoms);
  sum_of_squares = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    const double error = force[k] - label[k];
    sum_of_squares += error * error;
    force[k] = 2.0 * scale * error;
  }
  return scale * sum_of_squares;
}

}  // namespace dptrain
