#pragma once

#include <hdf5.h>

#include <string>
#include <vector>

#include "data_files.h"

namespace dptrain::test {

/// Writes an HDF5 file with systems of two atoms (O H) and two frames: coord and box in float64, energy [2][1] and force
/// in float32, as dpdata and h5py do.
class Hdf5Systems {
 public:
  explicit Hdf5Systems(const std::string &path) :
      file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))
  {
  }
  ~Hdf5Systems() { H5Fclose(file_); }
  Hdf5Systems(const Hdf5Systems &) = delete;
  Hdf5Systems &operator=(const Hdf5Systems &) = delete;

  void system(const std::string &group, bool variable_strings = true)
  {
    if (group != "/") this->group(group);
    const std::string prefix = group == "/" ? "" : group;
    this->group(prefix + "/set.000");
    numbers(prefix + "/type.raw", {2}, {0, 1}, H5T_STD_I64LE);
    strings(prefix + "/type_map.raw", {"O", "H"}, variable_strings);
    numbers(prefix + "/set.000/coord.npy", {2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
    std::vector<double> boxes = cube;
    boxes.insert(boxes.end(), cube.begin(), cube.end());
    numbers(prefix + "/set.000/box.npy", {2, 9}, boxes);
    numbers(prefix + "/set.000/energy.npy", {2, 1}, {-1, -2}, H5T_IEEE_F32BE);
    numbers(prefix + "/set.000/force.npy", {2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
            H5T_IEEE_F32LE);
  }
  void group(const std::string &name)
  {
    H5Gclose(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  void remove(const std::string &name) { H5Ldelete(file_, name.c_str(), H5P_DEFAULT); }
  /// `chunk` > 0: rows of a compressed chunk.
  void numbers(const std::string &name, const std::vector<hsize_t> &shape,
               const std::vector<double> &values, hid_t type = H5T_IEEE_F64LE, hsize_t chunk = 0)
  {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t settings = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk > 0) {
      std::vector<hsize_t> extent = shape;
      extent[0] = chunk;
      H5Pset_chunk(settings, static_cast<int>(extent.size()), extent.data());
      H5Pset_deflate(settings, 6);
    }
    const hid_t data =
        H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, settings, H5P_DEFAULT);
    if (!values.empty())
      H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(data);
    H5Pclose(settings);
    H5Sclose(space);
  }
  /// Strings of variable length, or of four characters filled up with zeros.
  void strings(const std::string &name, const std::vector<std::string> &words, bool variable)
  {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, variable ? H5T_VARIABLE : 4);
    const hsize_t count = words.size();
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t data =
        H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    std::vector<const char *> texts;
    std::string fixed;
    for (const auto &word : words) {
      texts.push_back(word.c_str());
      fixed += word + std::string(4 - word.size(), '\0');
    }
    const void *values = variable ? static_cast<const void *>(texts.data())
                                  : static_cast<const void *>(fixed.data());
    H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(data);
    H5Sclose(space);
    H5Tclose(type);
  }

 private:
  hid_t file_;
};

}  // namespace dptrain::test
