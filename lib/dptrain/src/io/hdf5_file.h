#pragma once

#include <hdf5.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dptrain {

/// An HDF5 identifier that closes itself.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Handle()
  {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Handle(Hdf5Handle &&other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Hdf5Handle &operator=(Hdf5Handle &&other) noexcept
  {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Hdf5Handle(const Hdf5Handle &) = delete;
  Hdf5Handle &operator=(const Hdf5Handle &) = delete;
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  Close close_;
};

/// Keeps HDF5 from printing its error stack while it lives.
class Hdf5Quiet {
 public:
  Hdf5Quiet()
  {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Hdf5Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Hdf5Quiet(const Hdf5Quiet &) = delete;
  Hdf5Quiet &operator=(const Hdf5Quiet &) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void *data_ = nullptr;
};

/// A numeric array, row-major; no extent at all for a scalar.
struct Hdf5Array {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
};

/// An HDF5 file. Small ones are held in memory: what goes to and comes from the disk are plain bytes, so that a full disk or
/// a lock gives the system's own reason, and writing can be atomic. Files with data sets that may be larger than the memory
/// stay on the disk and are read in pieces (Hdf5Dataset). HDF5's own printing of errors is silenced. Errors are dptrain::Error
/// and name the file.
class Hdf5File {
 public:
  /// A new, empty file in memory; `name` is for messages.
  static Hdf5File create(const std::string &name);
  /// Opens the bytes of a file for reading. Throws if HDF5 cannot read them (damaged or truncated).
  static Hdf5File open(const std::string &bytes, const std::string &name);
  /// Opens a file on the disk for reading.
  static Hdf5File on_disk(const std::string &path);
  /// True if the bytes start as an HDF5 file does.
  static bool is_hdf5(const std::string &bytes);

  /// As it is opened: a path, or what messages call it.
  const std::string &name() const { return name_; }
  /// The bytes to write to disk.
  std::string bytes() const;

  void make_group(const std::string &path);
  bool has(const std::string &path) const;
  bool is_group(const std::string &path) const;
  /// Names of the objects in a group, sorted.
  std::vector<std::string> list(const std::string &group) const;
  /// Full names of all groups below `group` (and itself) that hold a data set `member`, sorted.
  std::vector<std::string> groups_with(const std::string &group, const std::string &member) const;

  /// Writes a data set in float64, or float32 with `single`.
  void write_array(const std::string &path, const double *values,
                   const std::vector<std::int64_t> &shape, bool single = false);
  /// One row of numbers.
  void write_array(const std::string &path, const std::vector<double> &values)
  {
    write_array(path, values.data(), {static_cast<std::int64_t>(values.size())});
  }
  /// A one-dimensional data set of bytes.
  void write_bytes(const std::string &path, const std::string &bytes);
  std::string read_bytes(const std::string &path) const;
  /// Reads a data set of any number type.
  Hdf5Array read_array(const std::string &path) const;
  /// The values of a data set of strings or numbers as words; of a file on the disk.
  std::vector<std::string> words(const std::string &path) const;

  /// A data set whose type and shape tell what it is: true and false are one byte, texts are of fixed length. (Not
  /// attributes: HDF5 reads those of damaged files beyond their ends.)
  using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;
  void write_value(const std::string &path, const Value &value);
  Value read_value(const std::string &path) const;

  /// Attributes of a group or of the file ("/").
  void write_text(const std::string &object, const char *attribute, const std::string &text);
  void write_integer(const std::string &object, const char *attribute, std::int64_t value);
  std::optional<std::string> read_text(const std::string &object, const char *attribute) const;
  std::optional<std::int64_t> read_integer(const std::string &object, const char *attribute) const;

  [[noreturn]] void fail(const std::string &what) const;

 private:
  friend class Hdf5Dataset;
  Hdf5File(Hdf5Handle file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  [[noreturn]] void fail_damaged(const std::string &path) const;
  Hdf5Handle open_dataset(const std::string &path) const;
  Hdf5Handle open_attribute(const std::string &object, const char *attribute) const;
  /// Extents of a data set; throws if they are damaged or more than the file could hold.
  std::vector<std::int64_t> shape_of(const Hdf5Handle &data, const std::string &path) const;
  std::vector<std::string> strings(const Hdf5Handle &data, std::size_t count,
                                   const std::string &path) const;
  bool are_sound(const Hdf5Handle &data, std::size_t count) const;
  /// `values` are of the type `given`; they become a data set, or an attribute with one value, of the type `stored`.
  void write(const std::string &path, const std::vector<std::int64_t> &shape, hid_t stored,
             hid_t given, const void *values);
  void write_attribute(const std::string &object, const char *attribute, hid_t stored, hid_t given,
                       const void *value);

  Hdf5Handle file_;
  std::string name_;
  double opened_bytes_ = std::numeric_limits<double>::infinity();  // for checks of sizes
};

/// A data set of numbers in a file, which must live as long.
class Hdf5Dataset {
 public:
  Hdf5Dataset(const Hdf5File &file, const std::string &path);
  const std::vector<std::int64_t> &shape() const { return shape_; }
  /// `count` numbers from number `first` in row-major order: whole rows (first index), a piece of a one-dimensional
  /// data set, or all of it.
  void read(std::int64_t first, std::int64_t count, double *values) const;

 private:
  const Hdf5File &file_;
  std::string path_;
  Hdf5Handle data_;
  std::vector<std::int64_t> shape_;
};

}  // namespace dptrain
