#include "dptrain/session/trajectory.h"

#include <algorithm>
#include <cmath>

namespace dptrain {

double total_energy(const Communicator &comm, const Trajectory &run)
{
  double energy = run.energy();
  comm.all_reduce_sum(&energy, 1);
  return energy;
}

std::vector<double> total_features(const Communicator &comm, const Trajectory &run)
{
  std::vector<double> features = run.feature_sum();
  comm.all_reduce_sum(features.data(), features.size());
  return features;
}

bool same_energy(double a, double b)
{
  return std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(b));
}

}  // namespace dptrain
