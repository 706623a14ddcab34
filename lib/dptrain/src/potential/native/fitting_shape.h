#pragma once

#include <string>

#include "dptrain/input/config.h"
#include "potential/nets/networks.h"

namespace dptrain {

/// The fitting nets of a model, one for each type, and their name in a file.
NetworkShape fitting_shape(const ModelConfig &config);
extern const std::string fitting_networks_name;

}  // namespace dptrain
