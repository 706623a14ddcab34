#pragma once

#include <cstdint>
#include <memory>

#include "base/random.h"
#include "dptrain/potential/descriptor/power_spectrum_config.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"

namespace dptrain::test {

/// A small power-spectrum model with random weights; change `settings` before calling.
inline ModelData power_spectrum_model(int ntypes = 2, const PowerSpectrumConfig &settings = {},
                                      double rcut = 3.2, std::uint64_t seed = 7)
{
  ModelData data;
  for (int t = 0; t < ntypes; ++t)
    data.config.type_map.push_back(std::string(1, static_cast<char>('A' + t)));
  data.config.rcut = rcut;
  data.config.descriptor = settings.clone();
  data.config.fitting_neuron = {8, 8};
  data.descriptor_constants["scale"] = {0.4};
  data.out_bias.assign(ntypes, -1.5);
  data.bias_atom_e.assign(ntypes, 0.0);
  data.min_nbor_dist = 0.9;
  RandomEngine engine(seed);
  for (const auto &block : parameter_index(data.config))
    for (std::size_t k = 0; k < block.size; ++k)
      data.parameters.push_back(0.3 * random_normal(engine));
  return data;
}

inline PowerSpectrumConfig small_power_spectrum(int l_max = 3)
{
  PowerSpectrumConfig settings;
  settings.rcut_smth = 1.0;
  settings.n_max = 5;
  settings.axis_neuron = 3;
  settings.l_max = l_max;
  settings.n_basis = 7;
  return settings;
}

}  // namespace dptrain::test
