#pragma once

#include <cstdint>
#include <string>

namespace dptrain {

/// True for the name of a data set that convert_data() writes: .xyz, .extxyz, .frames, or a folder (no dot in its name).
bool is_data_name(const std::string &name);

/// Writes all frames of a data set, as find_systems() knows them, in another format: the one that the end of the name tells. Returns
/// how many. Throws Error where something with this name is there, and where the data cannot be read.
std::int64_t convert_data(const std::string &from, const std::string &to);

}  // namespace dptrain
