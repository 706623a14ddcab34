#pragma once

#include <vector>

#include "dptrain/config.h"
#include "dptrain/model.h"
#include "model/mlp.h"

namespace dptrain {

/// Embedding nets in file order (index = neighbour type, or centre + neighbour * ntypes), placed in the flat buffer.
std::vector<Mlp> embedding_networks(const ModelConfig &config,
                                    const std::vector<ParameterBlock> &index);
/// Fitting nets by centre type; the last layer is linear without skip.
std::vector<Mlp> fitting_networks(const ModelConfig &config,
                                  const std::vector<ParameterBlock> &index);

}  // namespace dptrain
