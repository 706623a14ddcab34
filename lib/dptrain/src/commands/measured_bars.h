#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/data/data_set.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// Error bars of a model that knows how its features are distributed, by its errors on frames that it has not learned, and
/// how far those that it has learned reach.  Not known where no frame of the others has forces.  Collective.
/// are_held_out: the others are of the data that were learned, and not given as validation data.
ErrorBars measured_bars(const std::shared_ptr<Model> &model,
                        const std::shared_ptr<const Communicator> &comm, const Systems &learned,
                        const Systems &others, bool are_held_out);

/// What was measured, or what is missing, and a warning where the frames were too few.
std::vector<std::string> lines_about(const ErrorBars &bars,
                                     const std::vector<std::string> &type_map);

}  // namespace dptrain
