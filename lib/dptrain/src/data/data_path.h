#pragma once

#include <string>

namespace dptrain {

/// What the name of a system points to.
struct DataPath {
  enum class Kind { folder, hdf5, extxyz, frames };
  Kind kind = Kind::folder;
  std::string file;   ///< folder or file
  std::string group;  ///< hdf5: what follows #, with a slash in front; empty without #
};

/// Throws Error if there is no such file or folder.
DataPath parse_data_path(const std::string &name);

}  // namespace dptrain
