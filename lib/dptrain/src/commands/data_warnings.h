#pragma once

#include <string>
#include <vector>

#include "dptrain/data/data_set.h"
#include "dptrain/input/config.h"

namespace dptrain {

/// A line for each kind of label that the loss asks for and that systems do not have in their first frame. Reads these
/// frames.
std::vector<std::string> missing_labels(const Systems &systems, const LossConfig &loss);

/// A line about atoms that are closer (Angstrom) than in any real material; empty if they are not.
std::string unlikely_distance(double shortest);

}  // namespace dptrain
