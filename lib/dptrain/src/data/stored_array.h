#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dptrain {

/// An array of numbers in a file, read piece by piece.
class StoredArray {
 public:
  virtual ~StoredArray() = default;
  /// For messages: the file, or the file and the data set in it.
  virtual const std::string &path() const = 0;
  virtual const std::vector<std::int64_t> &shape() const = 0;
  /// Numbers `row * width` to `(row + 1) * width` of the array in row-major order. The file may be closed in between.
  virtual void read_row(std::int64_t row, std::int64_t width, double *values) const = 0;

  /// Product of the extents.
  std::int64_t size() const;
  /// As NumPy writes it: (80, 576).
  std::string shape_text() const;
};

/// The files of one system in DeePMD-kit's layout: a folder, or a group of an HDF5 file. Names are relative to it.
class SystemTree {
 public:
  virtual ~SystemTree() = default;
  /// For messages: where `name` is.
  virtual std::string path_of(const std::string &name) const = 0;
  /// Names of what is in the root (`folder` empty) or in a set; sorted.
  virtual std::vector<std::string> list(const std::string &folder) const = 0;
  virtual bool is_folder(const std::string &name) const = 0;
  /// Words of a text file, without comments (#); numbers or strings of an HDF5 data set.
  virtual std::vector<std::string> words(const std::string &name) const = 0;
  virtual std::shared_ptr<const StoredArray> array(const std::string &name) const = 0;
};

/// A folder with .npy files.
std::shared_ptr<const SystemTree> open_npy_tree(const std::string &folder);
/// A group of an HDF5 file; `group` starts with a slash.
std::shared_ptr<const SystemTree> open_hdf5_tree(const std::string &file, const std::string &group);

/// Files and data sets that stay open between two reads: a limited number of them, because a process may have a
/// thousand open files only. Who does not get a place opens the file for each read.
class OpenPlace {
 public:
  OpenPlace();
  ~OpenPlace();
  OpenPlace(const OpenPlace &) = delete;
  OpenPlace &operator=(const OpenPlace &) = delete;
  bool granted() const { return granted_; }

 private:
  bool granted_;
};

}  // namespace dptrain
