#include "dptrain/training/energy_bias_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/statistics/statistics.h"
#include "training/loss/atom_energies.h"

namespace dptrain {

namespace {

constexpr double other_reference = 1.0;  // eV per atom

double standard_deviation(const std::vector<double> &values)
{
  if (values.empty()) return 0.0;
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / n);
}

}  // namespace

EnergyBiasFit::EnergyBiasFit(std::shared_ptr<Model> model, std::shared_ptr<const Communicator> comm,
                             bool use_coefficients, bool keeps_atom_energies) :
    model_(std::move(model)),
    comm_(std::move(comm)),
    use_coefficients_(use_coefficients),
    keeps_atom_energies_(keeps_atom_energies)
{
}

void EnergyBiasFit::add(const Frame &frame)
{
  if (!frame.label.energy || frame.label.frame_weight == 0.0) return;
  guarded(*comm_, [&] {
    const bool weighted = use_coefficients_ && !frame.label.atom_ener_coeff.empty();
    force_.assign(std::size_t(frame.nall()) * 3, 0.0);
    atom_energy_.assign(frame.nlocal, 0.0);
    ForwardOutput out;
    out.force = force_.data();
    out.atom_energy = atom_energy_.data();
    model_->forward(frame.domain(), out);

    counts_.resize(counts_.size() + model_->type_map().size(), 0.0);
    double *counts = counts_.data() + counts_.size() - model_->type_map().size();
    add_coefficients(*model_, frame, use_coefficients_, counts);
    network_energies_.push_back(
        weighted ? network_energy(*model_, frame, use_coefficients_, atom_energy_.data())
                 : out.network_energy);
    labels_.push_back(*frame.label.energy);
  });
}

double EnergyBiasFit::apply()
{
  comm_->all_reduce_sum(counts_.data(), counts_.size());
  comm_->all_reduce_sum(network_energies_.data(), network_energies_.size());
  double deviation = 0.0;
  guarded(*comm_, [&] {
    std::vector<double> bias = model_->energy_bias();
    const std::size_t ntypes = bias.size();
    std::vector<double> missing = labels_;
    for (std::size_t k = 0; k < missing.size(); ++k) missing[k] -= network_energies_[k];
    subtract(missing, bias);
    // the change is fitted: types of which the frames say nothing, or nothing alone, keep what they had
    const auto change_by = [&](const std::vector<double> &counts) {
      std::vector<double> rest = missing;
      const std::vector<double> change = fit_energy_bias(counts, rest, static_cast<int>(ntypes));
      subtract(rest, change);
      return std::pair(change, rest);
    };
    auto [change, rest] = change_by(of_open_types());
    if (!keeps_atom_energies_ && error_per_atom(rest) > other_reference)
      std::tie(change, rest) = change_by(counts_);
    deviation = standard_deviation(rest);
    for (std::size_t t = 0; t < ntypes; ++t) bias[t] += change[t];
    model_->set_energy_bias(bias);
  });
  labels_.clear();
  counts_.clear();
  network_energies_.clear();
  return deviation;
}

// Those of the frames.
void EnergyBiasFit::subtract(std::vector<double> &energies, const std::vector<double> &bias) const
{
  for (std::size_t k = 0; k < energies.size(); ++k)
    for (std::size_t t = 0; t < bias.size(); ++t)
      energies[k] -= counts_[k * bias.size() + t] * bias[t];
}

// Without the atoms whose energies are known.
std::vector<double> EnergyBiasFit::of_open_types() const
{
  std::vector<double> counts = counts_;
  const auto known = known_atom_energies(model_->data());
  for (std::size_t k = 0; k < counts.size(); ++k)
    if (known[k % known.size()]) counts[k] = 0.0;
  return counts;
}

// Root mean square over the frames, eV.
double EnergyBiasFit::error_per_atom(const std::vector<double> &rest) const
{
  const std::size_t ntypes = model_->type_map().size();
  double squares = 0.0;
  for (std::size_t k = 0; k < rest.size(); ++k) {
    const double *counts = &counts_[k * ntypes];
    double natoms = 0.0;  // coefficients may be negative
    for (std::size_t t = 0; t < ntypes; ++t) natoms += std::abs(counts[t]);
    const double error = rest[k] / std::max(natoms, 1.0);
    squares += error * error;
  }
  return rest.empty() ? 0.0 : std::sqrt(squares / static_cast<double>(rest.size()));
}

}  // namespace dptrain
