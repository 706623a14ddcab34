#pragma once

#include <string>
#include <vector>

#include "dptrain/labels/label_source.h"

namespace dptrain {

/// Asks for the energy of one atom of each element alone in space, and waits for it: eV, in the order of the elements.
/// `periodic`: in a large periodic cell, for codes that know no other one; else without a cell. The types of the frames are
/// those of the elements. Collective; throws Error where there is no such energy.
std::vector<double> ask_for_separate_atoms(LabelSource &source,
                                           const std::vector<std::string> &elements, bool periodic);

}  // namespace dptrain
