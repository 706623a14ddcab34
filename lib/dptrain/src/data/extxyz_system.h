#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/data/data_set.h"

namespace dptrain {

/// An extended XYZ file with ASE's conventions.
std::shared_ptr<const DataSystem> open_extxyz_system(const std::string &path,
                                                     const DataOptions &options);

/// Names of the elements in the file, in the order in which they appear.
std::vector<std::string> elements_of_extxyz(const std::string &path);

}  // namespace dptrain
