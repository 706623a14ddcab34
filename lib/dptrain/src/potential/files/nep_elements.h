#pragma once

#include <string>
#include <vector>

#include "dptrain/potential/model/model_data.h"

namespace dptrain {

/// The same NEP for these elements of it alone, each once and in this order: energies and forces of their atoms are the same, and
/// memory and time those of a potential with so many elements. Models without one of the elements stay, and others than a NEP
/// as GPUMD has them, without error bars, walls and terms of this program.
void keep_elements(ModelData &data, const std::vector<std::string> &elements);

}  // namespace dptrain
