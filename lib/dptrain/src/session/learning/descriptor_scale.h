#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// Sets the scaler of a new model, where its descriptor has one (DescriptorType), by means and deviations of the numbers over the atoms of
/// these frames, which are asked for then alone, and the biases of the first layers so that they see deviations from the mean of each
/// type. Collective.
void scale_descriptor(std::shared_ptr<const Communicator> comm, ModelData &data,
                      const std::function<std::vector<const Frame *>()> &frames);

}  // namespace dptrain
