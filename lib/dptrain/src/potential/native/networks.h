#pragma once

#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/potential/model/model.h"
#include "potential/native/mlp.h"

namespace dptrain {

/// Embedding nets in file order (index = neighbor type, or center + neighbor * ntypes), placed in the flat buffer.
std::vector<Mlp> embedding_networks(const ModelConfig &config,
                                    const std::vector<ParameterBlock> &index);
/// Fitting nets by center type; the last layer is linear without skip.
std::vector<Mlp> fitting_networks(const ModelConfig &config,
                                  const std::vector<ParameterBlock> &index);

}  // namespace dptrain
