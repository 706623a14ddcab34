#include "training/atom_energies.h"

#include <algorithm>
#include <numeric>

namespace dptrain {

namespace {

// Atoms that have an energy, by type, or the sums of their coefficients, over all ranks: [frames][ntypes].
std::vector<double> count_atoms(const Model &model, const Communicator &comm,
                                const std::vector<const Frame *> &frames, bool use_coefficients)
{
  const std::size_t ntypes = model.type_map().size();
  std::vector<double> counts(frames.size() * ntypes, 0.0);
  const auto is_counted = [](const Frame *frame) { return !frame->type_counts.empty(); };
  if (use_coefficients || !std::all_of(frames.begin(), frames.end(), is_counted)) {
    for (std::size_t k = 0; k < frames.size(); ++k)
      add_coefficients(model, *frames[k], use_coefficients, &counts[k * ntypes]);
    comm.all_reduce_sum(counts.data(), counts.size());
    return counts;
  }
  for (std::size_t k = 0; k < frames.size(); ++k) {
    const std::vector<std::int64_t> &atoms = frames[k]->type_counts;
    for (std::size_t type = 0; type < std::min(ntypes, atoms.size()); ++type)
      if (model.has_energy(static_cast<int>(type)))
        counts[k * ntypes + type] = static_cast<double>(atoms[type]);
  }
  return counts;
}

}  // namespace

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

std::vector<double> bias_energies(const Model &model, const Communicator &comm,
                                  const std::vector<const Frame *> &frames, bool use_coefficients)
{
  const std::vector<double> bias = model.energy_bias();
  const std::vector<double> counts = count_atoms(model, comm, frames, use_coefficients);
  std::vector<double> energies(frames.size());
  for (std::size_t k = 0; k < frames.size(); ++k)
    energies[k] =
        std::inner_product(bias.begin(), bias.end(), counts.begin() + k * bias.size(), 0.0);
  return energies;
}

}  // namespace dptrain
