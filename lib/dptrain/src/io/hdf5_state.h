#pragma once

#include <string>

#include "dptrain/base/state.h"
#include "io/hdf5_file.h"

namespace dptrain {

/// Puts a state into a new group: values as data sets, groups as groups.
void write_state(Hdf5File &file, const std::string &group, const State &state);
/// Reads it again. Throws Error where the group is missing or damaged.
State read_state(const Hdf5File &file, const std::string &group);

}  // namespace dptrain
