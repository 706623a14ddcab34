#include "dptrain/session/trajectory.h"

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

}  // namespace dptrain
