#pragma once

#include <string>
#include <vector>

#include "dptrain/labels/label_source.h"

namespace dptrain {

/// Asks for the energy of one atom of each of these types alone in space, and waits for it: eV, in the order of the types.
/// `periodic`: in a large periodic cell, for codes that know no other one; else without a cell. `type_map`: names of all
/// types. Collective; throws Error where there is no such energy.
std::vector<double> ask_for_separate_atoms(LabelSource &source, const std::vector<int> &types,
                                           const std::vector<std::string> &type_map, bool periodic);

}  // namespace dptrain
