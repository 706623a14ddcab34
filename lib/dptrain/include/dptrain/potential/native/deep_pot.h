#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/statistics/statistics.h"

namespace dptrain {

/// The native potential (a descriptor with DeePMD-kit's fitting ener) from the content of a model file.
std::shared_ptr<Model> make_deep_pot(ModelData data);

// --- a new model
/// What is counted in the data for it.
StatisticsSettings statistics_settings(const ModelConfig &config);
/// Sets what the settings leave to the numbers of neighbors in the data (sel "auto" of se_e2_a): the largest ones times
/// `margin` (DeePMD-kit's own by default), where the input does not say more.
void complete(ModelConfig &config, const Statistics &statistics, double margin = 1.1);
/// The model: settings, if they are not complete, and constants of the descriptor from reduced statistics, weights drawn as
/// DeePMD-kit draws them (W ~ N(0, 1/sqrt(in+out)), b ~ N(0, 1), idt ~ N(0.1, 0.001)); a given seed always gives the same.
ModelData new_deep_pot(const ModelConfig &config, const Statistics &statistics,
                       const std::string &model_def_script);

/// Layout of the flat parameter buffer: the descriptor, then fitting nets in file order; per layer w, b, idt.
std::vector<ParameterBlock> parameter_index(const ModelConfig &config);

/// By type: the energy in eV of a separate atom, which the model gives exactly; none where it was fitted.
using AtomEnergies = std::vector<std::optional<double>>;
AtomEnergies known_atom_energies(const ModelData &model);
/// The same in words: "Na fitted, Cl -3.2 eV".
std::string text_of_atom_energies(const ModelData &model);

}  // namespace dptrain
