#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dptrain/data/data_set.h"

namespace dptrain {

/// The labels of a run, FILE.frames. With the energies, forces and virials of the baseline, where the potential of the run has one.
std::shared_ptr<const DataSystem> open_frames_system(const std::string &path,
                                                     const DataOptions &options);

/// Names of the elements in the file, in the order in which they appear.
std::vector<std::string> elements_of_frames(const std::string &path);

}  // namespace dptrain
