#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/stored_array.h"
#include "dptrain/data/data_set.h"

namespace dptrain {

/// A system in DeePMD-kit's layout; `name` as given by the user.
std::shared_ptr<const DataSystem>
open_deepmd_system(const std::string &name, const SystemTree &tree, const DataOptions &options);

/// Names of the elements that occur in its frames, in the order of its type_map.raw.
std::vector<std::string> elements_of_deepmd(const SystemTree &tree, const std::string &set_prefix);

}  // namespace dptrain
