#include <numeric>

#include "training/loss/atom_energies.h"
#include "training/loss/penalty.h"
#include "training/loss/terms.h"

namespace dptrain {

namespace {

/// Sums: the energy without energy bias, and the coefficients of the atoms of each type, which the bias is multiplied by: a
/// large bias stays out of the sums, as its rounding would differ with the number of ranks.
class EnergyTerm : public LossTerm {
 public:
  explicit EnergyTerm(const LossConfig &config) :
      LossTerm({"e", "energies", config.prefactor("e"), config.function == LossFunction::mae}),
      config_(config)
  {
  }

  bool has_label(const Label &label) const override { return label.energy.has_value(); }
  bool uses_atom_energies(const Label &label) const override
  {
    return config_.enable_atom_ener_coeff && !label.atom_ener_coeff.empty();
  }
  std::size_t num_sums(const Model &model) const override { return 1 + model.type_map().size(); }

  void add_sums(const Prediction &here, double *sums) const override
  {
    sums[0] += uses_atom_energies(here.frame.label)
                   ? dptrain::network_energy(here.model, here.frame, true, here.atom_energy)
                   : here.network_energy;
    add_coefficients(here.model, here.frame, config_.enable_atom_ener_coeff, sums + 1);
  }

  double value(const Prediction &here, const double *sums, Deviation &errors) const override
  {
    const double error = error_of(here, sums);
    errors.add(error / static_cast<double>(here.frame.natoms));
    return penalty(here.frame).value(error);
  }

  void add_residual(const Prediction &here, const double *sums, double weight,
                    Residual &residual) const override
  {
    const double slope = weight * penalty(here.frame).slope(error_of(here, sums));
    const Label &label = here.frame.label;
    if (!uses_atom_energies(label))
      residual.energy += slope;
    else
      for (int i = 0; i < here.frame.nlocal; ++i)
        residual.atom_energy[i] += slope * label.atom_ener_coeff[i];
  }

 private:
  ExtensivePenalty penalty(const Frame &frame) const
  {
    return {config_, config_.huber_delta[0], frame.natoms};
  }
  /// eV, of the whole frame.
  static double error_of(const Prediction &here, const double *sums)
  {
    const std::vector<double> bias = here.model.energy_bias();
    const double bias_energy = std::inner_product(bias.begin(), bias.end(), sums + 1, 0.0);
    return sums[0] - (*here.frame.label.energy - bias_energy);
  }

  LossConfig config_;
};

}  // namespace

std::unique_ptr<LossTerm> make_energy_term(const LossConfig &config)
{
  return std::make_unique<EnergyTerm>(config);
}

}  // namespace dptrain
