#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/stored_array.h"

namespace dptrain::test {

/// An array of a .npy file, row-major.
struct NpyArray {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// The whole file, as data sets are read.
inline NpyArray read_npy(const std::string &path)
{
  const std::filesystem::path place(path);
  const auto array = open_npy_tree(place.parent_path().string())->array(place.filename().string());
  NpyArray all{array->shape(), std::vector<double>(static_cast<std::size_t>(array->size()))};
  array->read_row(0, array->size(), all.values.data());
  return all;
}

}  // namespace dptrain::test
