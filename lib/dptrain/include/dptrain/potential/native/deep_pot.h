#pragma once

#include <memory>
#include <string>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/statistics/statistics.h"

namespace dptrain {

/// The native potential (DeePMD-kit's se_e2_a + ener) from the content of a model file.
std::shared_ptr<Model> make_deep_pot(ModelData data);

/// A new model: sel, davg and dstd from reduced statistics, weights drawn as DeePMD-kit draws them
/// (W ~ N(0, 1/sqrt(in+out)), b ~ N(0, 1), idt ~ N(0.1, 0.001)); a given seed always gives the same model.
ModelData new_deep_pot(const ModelConfig &config, const Statistics &statistics,
                       const std::string &model_def_script);

/// Layout of the flat parameter buffer: embedding nets in file order, then fitting nets; per layer w, b, idt.
std::vector<ParameterBlock> parameter_index(const ModelConfig &config);

}  // namespace dptrain
