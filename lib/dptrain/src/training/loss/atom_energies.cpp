#include "training/loss/atom_energies.h"

#include <vector>

namespace dptrain {

double coefficient_of(const Model &model, const Frame &frame, int atom, bool use_coefficients)
{
  if (frame.type[atom] < 0 || !model.has_energy(frame.type[atom])) return 0.0;
  const std::vector<double> &coefficients = frame.label.atom_ener_coeff;
  return use_coefficients && !coefficients.empty() ? coefficients[atom] : 1.0;
}

void add_coefficients(const Model &model, const Frame &frame, bool use_coefficients, double *counts)
{
  for (int i = 0; i < frame.nlocal; ++i)
    if (frame.type[i] >= 0)
      counts[frame.type[i]] += coefficient_of(model, frame, i, use_coefficients);
}

double network_energy(const Model &model, const Frame &frame, bool use_coefficients,
                      const double *atom_energy)
{
  const std::vector<double> bias = model.energy_bias();
  double energy = 0.0;
  for (int i = 0; i < frame.nlocal; ++i)
    if (frame.type[i] >= 0)
      energy += coefficient_of(model, frame, i, use_coefficients) *
                (atom_energy[i] - bias[frame.type[i]]);
  return energy;
}

}  // namespace dptrain
