#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/input/config.h"

namespace dptrain {

/// The power spectrum of the neighbor density (potential/descriptor/power_spectrum.h).
class PowerSpectrumConfig final : public DescriptorConfig {
 public:
  std::string type() const override { return "power_spectrum"; }
  std::unique_ptr<DescriptorConfig> clone() const override
  {
    return std::make_unique<PowerSpectrumConfig>(*this);
  }
  int size() const override { return n_max * (1 + (l_max + 1) * axis_neuron); }
  bool measures_distance() const override { return true; }
  const Keys<DescriptorConfig> &table() const override;
  void complete(JsonReader &section, ModelConfig &model) override;
  bool chooses_cutoff() const override { return true; }
  void follow_cutoff(double rcut) override;
  bool set_input_defaults(InputFile &input, bool in_a_run) const override;
  std::vector<std::string> ignored_keys() const override { return {"sel"}; }

  double rcut_smth = 0.0;  ///< Angstrom; a third of the cutoff unless the input says otherwise
  int n_max = 16;          ///< radial functions of each pair of types
  int axis_neuron = 4;     ///< of these, how many are multiplied with all
  int l_max = 3;           ///< largest degree of the spherical harmonics
  /// Bessel functions of which the radial functions are made; 4 per Angstrom of the cutoff unless the input says otherwise.
  int n_basis = 24;
  std::vector<std::array<int, 2>> exclude_types;

 private:
  bool smth_follows_ = true, basis_follows_ = true;  // the cutoff
};

/// The settings of a model with this descriptor. Throws Error if it has another one.
const PowerSpectrumConfig &power_spectrum(const ModelConfig &model);

}  // namespace dptrain
