#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/hdf5_file.h"

namespace dptrain {

/// An HDF5 file on the disk, opened for reading pieces of data sets that are larger than the memory (Hdf5File holds small
/// files as a whole). Errors are dptrain::Error and name the file.
class Hdf5DataFile {
 public:
  explicit Hdf5DataFile(const std::string &path);

  const std::string &path() const { return path_; }
  /// True if `name` (/a/b) is a group.
  bool is_group(const std::string &name) const;
  /// Names in a group, sorted.
  std::vector<std::string> list(const std::string &group) const;
  /// Full names of all groups below `group` (and itself) that hold an object `member`, sorted.
  std::vector<std::string> groups_with(const std::string &group, const std::string &member) const;
  /// The values of a data set of strings or numbers as words.
  std::vector<std::string> words(const std::string &name) const;

  hid_t id() const { return file_.get(); }
  [[noreturn]] void fail(const std::string &what) const;

 private:
  std::vector<std::string> strings(hid_t data, hid_t type, std::size_t count,
                                   const std::string &name) const;

  bool are_sound(hid_t data, std::size_t count) const;

  std::string path_;
  Hdf5Handle file_;
};

/// A data set of numbers in such a file.
class Hdf5Dataset {
 public:
  Hdf5Dataset(std::shared_ptr<const Hdf5DataFile> file, const std::string &name);
  const std::vector<std::int64_t> &shape() const { return shape_; }
  /// `count` numbers from number `first` in row-major order: whole rows (first index), a piece of a one-dimensional
  /// data set, or all of it.
  void read(std::int64_t first, std::int64_t count, double *values) const;

 private:
  std::shared_ptr<const Hdf5DataFile> file_;
  std::string name_;
  Hdf5Handle data_;
  std::vector<std::int64_t> shape_;
};

}  // namespace dptrain
