#pragma once

#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// Whether the descriptor of a model has a scaler, see DescriptorType.
bool has_scaler(const ModelConfig &config);

/// Sets the scaler of a new model to the inverse standard deviations of the numbers of the descriptor over the atoms of these frames,
/// and the biases of the first layers so that they see deviations from the mean of each type. Collective.
void scale_descriptor(const Communicator &comm, ModelData &data,
                      const std::vector<const Frame *> &frames);

}  // namespace dptrain
