#include <cmath>
#include <fmt/format.h>

#include "dptrain/potential/native/deep_pot.h"
#include "potential/descriptor/descriptor_type.h"

namespace dptrain {

// A fit that has changed an energy leaves the key atom_ener as it is: the two are then different.
AtomEnergies known_atom_energies(const ModelData &model)
{
  constexpr double rounding = 1e-9;  // eV
  const ModelConfig &config = model.config;
  AtomEnergies known(config.ntypes());
  if (config.atom_ener.empty() || !descriptor_type(config).is_zero_alone(model)) return known;
  for (std::size_t t = 0; t < config.atom_ener.size(); ++t)
    if (const auto &given = config.atom_ener[t])
      if (std::abs(model.out_bias[t] + model.bias_atom_e[t] - *given) < rounding) known[t] = given;
  for (const int type : config.atom_exclude_types) known[type].reset();
  return known;
}

std::string text_of_atom_energies(const ModelData &model)
{
  const AtomEnergies known = known_atom_energies(model);
  std::string text;
  for (std::size_t t = 0; t < known.size(); ++t)
    text += fmt::format("{}{} {}", t == 0 ? "" : ", ", model.config.type_map[t],
                        known[t] ? fmt::format("{:.6g} eV", *known[t]) : "fitted");
  return text;
}

}  // namespace dptrain
