#include <algorithm>
#include <cmath>

#include "dptrain/uncertainty/model_deviation.h"

namespace dptrain {

namespace {

using Vector = std::array<double, 3>;

double norm(const Vector &v)
{
  return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

double one_force_deviation(const std::vector<const double *> &forces, std::size_t atom,
                           std::optional<double> level)
{
  const double n = static_cast<double>(forces.size());
  Vector mean{};
  for (const double *force : forces)
    for (int k = 0; k < 3; ++k) mean[k] += force[3 * atom + k] / n;
  double variance = 0.0;
  for (const double *force : forces)
    for (int k = 0; k < 3; ++k) {
      const double difference = force[3 * atom + k] - mean[k];
      variance += difference * difference / n;
    }
  return std::sqrt(variance) / (level ? norm(mean) + *level : 1.0);
}

double one_virial_deviation(const std::vector<std::array<double, 9>> &virials, int component,
                            std::optional<double> level)
{
  const double n = static_cast<double>(virials.size());
  double mean = 0.0, variance = 0.0;
  for (const auto &virial : virials) mean += virial[component] / n;
  for (const auto &virial : virials)
    variance += (virial[component] - mean) * (virial[component] - mean) / n;
  return std::sqrt(variance) / (level ? std::fabs(mean) + *level : 1.0);
}

}  // namespace

std::vector<double> force_deviation(const std::vector<const double *> &forces, std::size_t natoms,
                                    std::optional<double> level)
{
  std::vector<double> deviation(natoms);
  for (std::size_t i = 0; i < natoms; ++i) deviation[i] = one_force_deviation(forces, i, level);
  return deviation;
}

DeviationRange range_of_atoms(const Communicator &comm, const double *values, std::size_t count)
{
  double sum_count[2] = {0.0, static_cast<double>(count)};
  // no deviation is negative: -HUGE_VAL and 0 are those of a rank without atoms
  double max_and_minus_min[2] = {0.0, -HUGE_VAL};
  for (std::size_t i = 0; i < count; ++i) {
    sum_count[0] += values[i];
    max_and_minus_min[0] = std::max(max_and_minus_min[0], values[i]);
    max_and_minus_min[1] = std::max(max_and_minus_min[1], -values[i]);
  }
  comm.all_reduce_sum(sum_count, 2);
  comm.all_reduce_max(max_and_minus_min, 2);
  if (sum_count[1] == 0.0) return {};
  return {max_and_minus_min[0], -max_and_minus_min[1], sum_count[0] / sum_count[1]};
}

DeviationRange virial_deviation(const std::vector<std::array<double, 9>> &virials_per_atom,
                                std::optional<double> level)
{
  DeviationRange range{0.0, HUGE_VAL, 0.0};
  double squares = 0.0;
  for (int component = 0; component < 9; ++component) {
    const double deviation = one_virial_deviation(virials_per_atom, component, level);
    range.max = std::max(range.max, deviation);
    range.min = std::min(range.min, deviation);
    squares += deviation * deviation;
  }
  range.average = std::sqrt(squares / 9.0);
  return range;
}

}  // namespace dptrain
