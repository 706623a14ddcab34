#include "labels/label_virial.h"

#include <algorithm>
#include <utility>

namespace dptrain {

namespace {

template <class Values> bool all_zero(const Values &values)
{
  return std::all_of(values.begin(), values.end(), [](double x) { return x == 0.0; });
}

}  // namespace

std::array<double, 9> virial_of_forces(const std::vector<double> &force,
                                       const std::vector<double> &coord)
{
  std::array<double, 9> sum{};
  for (std::size_t k = 0; k < force.size(); ++k)
    for (std::size_t d = 0; d < 3; ++d) sum[3 * (k % 3) + d] += force[k] * coord[k - k % 3 + d];
  return sum;
}

void make_symmetric(std::array<double, 9> &virial)
{
  for (const auto &[a, b] : {std::pair(1, 3), std::pair(2, 6), std::pair(5, 7)})
    virial[a] = virial[b] = 0.5 * (virial[a] + virial[b]);
}

bool is_left_out(const std::array<double, 9> &virial, const std::vector<double> &force,
                 const WholeFrame &frame)
{
  return frame.periodic && all_zero(virial) && !all_zero(force);
}

}  // namespace dptrain
