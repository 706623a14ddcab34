#pragma once

#include <cstdint>
#include <string>

namespace dptrain {

/// True for the name of a data set that convert_data() writes: .xyz, .extxyz, .frames, or a folder (no dot in its name).
bool is_data_name(const std::string &name);

struct ConvertedData {
  std::int64_t frames = 0;
  std::string
      cut;  ///< files of labels with something behind their last complete frame, which was left out
};

/// Writes all frames of a data set, as find_systems() knows them, in another format: the one that the end of the name tells. Throws Error where something with this name is there, and where the data cannot be read.
ConvertedData convert_data(const std::string &from, const std::string &to);

}  // namespace dptrain
