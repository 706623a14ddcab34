#pragma once

#include <string>
#include <vector>

#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// The same NEP for these elements of it alone, in the order in which it has them: energies and forces of their atoms are the same, and
/// memory and time those of a potential with so many elements. Models of which all elements are asked for stay, and others than a NEP
/// as GPUMD has them, without error bars, walls and terms of this program.
void keep_elements(ModelData &data, const std::vector<std::string> &elements);

}  // namespace dptrain
