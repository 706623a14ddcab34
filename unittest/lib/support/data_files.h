#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "dptrain/data/data_set.h"
#include "scratch.h"

namespace dptrain::test {

/// A .npy file as numpy.save writes it, with numbers of type T in the given type, shape and order.
template <typename T>
std::string numpy_file(const std::string &type, const std::string &shape,
                       const std::vector<T> &data, bool fortran = false)
{
  std::string text = "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") +
                     ", 'shape': " + shape + ", }";
  text.resize(64 * 2 - 11, ' ');
  return std::string("\x93NUMPY\1\0\x76\0", 10) + text + "\n" +
         std::string(reinterpret_cast<const char *>(data.data()), data.size() * sizeof(T));
}

/// The same numbers in the other byte order.
template <typename T> std::vector<T> swapped(std::vector<T> data)
{
  for (T &value : data) {
    char *bytes = reinterpret_cast<char *>(&value);
    std::reverse(bytes, bytes + sizeof(T));
  }
  return data;
}

/// float64 array [rows][width] with rows of the numbers given.
inline std::string npy_rows_of(std::int64_t rows, std::int64_t width,
                               const std::vector<double> &data)
{
  return numpy_file<double>("<f8", "(" + std::to_string(rows) + ", " + std::to_string(width) + ")",
                            data);
}

inline const std::vector<double> cube{5, 0, 0, 0, 5, 0, 0, 0, 5};

/// A folder with a system of two atoms (O H), one set, two frames and all usual labels; tests damage parts of it.
class WaterSystem {
 public:
  explicit WaterSystem(const std::string &name = "sys") : name_(name)
  {
    std::filesystem::create_directories(scratch / (name + "/set.000"));
    with("type.raw", "0\n1\n");
    with("type_map.raw", "O\nH\n");
    std::vector<double> boxes = cube;
    boxes.insert(boxes.end(), cube.begin(), cube.end());
    with("set.000/coord.npy", npy_rows_of(2, 6, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}));
    with("set.000/box.npy", npy_rows_of(2, 9, boxes));
    with("set.000/energy.npy", numpy_file<double>("<f8", "(2,)", {-1, -2}));
    with("set.000/force.npy", npy_rows_of(2, 6, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    std::vector<double> virial;
    for (int i = 0; i < 18; ++i) virial.push_back(i);
    with("set.000/virial.npy", npy_rows_of(2, 9, virial));
  }
  void with(const std::string &file, const std::string &content) const
  {
    scratch.with(name_ + "/" + file, content);
  }
  void remove(const std::string &file) const { std::filesystem::remove_all(path() + "/" + file); }
  std::string path() const { return scratch / name_; }
  std::shared_ptr<const DataSystem> open(const std::vector<std::string> &type_map = {"O",
                                                                                     "H"}) const
  {
    DataOptions options;
    options.type_map = type_map;
    return open_system(path(), options);
  }
  /// Message of the error when the system is opened and all its frames are read.
  std::string error() const
  {
    return message_of([&] {
      const auto system = open();
      for (std::int64_t k = 0; k < system->num_frames(); ++k) system->read(k);
    });
  }

  Scratch scratch;

 private:
  std::string name_;
};

}  // namespace dptrain::test
