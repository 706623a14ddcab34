#include "io/hdf5_data_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "dptrain/base/error.h"
#include "io/file.h"
#include "io/hdf5_guard.h"

namespace dptrain {

namespace {

// Types and names of elements, one string each: more is no data set of this kind.
constexpr std::size_t max_words = 100000000;

Hdf5Handle open_file(const std::string &path)
{
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  // many ranks read, nobody writes; some file systems know no locks
  H5Pset_file_locking(access.get(), false, true);
#endif
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose};
}

Hdf5Handle open_dataset(hid_t file, const std::string &name)
{
  return {H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose};
}

/// Extents of a data set; throws if they are damaged or more numbers than the file could hold.
std::vector<std::int64_t> extents_of(const Hdf5DataFile &file, hid_t data, const std::string &name)
{
  const Hdf5Handle space(H5Dget_space(data), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  const Hdf5Handle type(H5Dget_type(data), H5Tclose);
  hsize_t file_size = 0;
  // compression saves a factor of 1000 at most
  if (rank < 0 || points < 0 || H5Fget_filesize(file.id(), &file_size) < 0 ||
      static_cast<double>(points) * static_cast<double>(H5Tget_size(type.get())) >
          1000.0 * static_cast<double>(file_size))
    file.fail(fmt::format(
        "HDF5 data set '{}' has an impossible size (damaged); write the file again", name));
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

std::string joined(const std::string &group, const std::string &name)
{
  return group == "/" ? group + name : group + "/" + name;
}

// HDF5's second form of this function has changed its name twice
#if H5_VERSION_GE(1, 12, 0)
using ObjectInfo = H5O_info2_t;
constexpr auto visit_by_name = H5Ovisit_by_name3;
#else
using ObjectInfo = H5O_info_t;
constexpr auto visit_by_name = H5Ovisit_by_name2;
#endif

/// What the visit of all objects below a group collects.
struct Visit {
  std::string suffix;
  std::vector<std::string> found;  // names relative to the group, without the suffix
};

herr_t visit_object(hid_t, const char *name, const ObjectInfo *info, void *data)
{
  auto &visit = *static_cast<Visit *>(data);
  const std::string full = std::string("/") + name;
  if (info->type == H5O_TYPE_DATASET && full.size() >= visit.suffix.size() &&
      full.compare(full.size() - visit.suffix.size(), std::string::npos, visit.suffix) == 0)
    visit.found.push_back(full.substr(0, full.size() - visit.suffix.size()));
  return 0;
}

}  // namespace

Hdf5DataFile::Hdf5DataFile(const std::string &path) : path_(path), file_(-1, H5Fclose)
{
  expect_regular_file(path);
  const File bytes(path, O_RDONLY);
  const auto read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.read(data, count, offset);
  };
  const Hdf5Quiet quiet;
  if (is_sound_hdf5_start(read)) file_ = open_file(path);
  if (!file_.valid()) fail("not an HDF5 file, damaged, truncated or not readable; copy it again");
}

void Hdf5DataFile::fail(const std::string &what) const
{
  throw Error(path_ + ": " + what);
}

bool Hdf5DataFile::is_group(const std::string &name) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle object(H5Oopen(file_.get(), name.c_str(), H5P_DEFAULT), H5Oclose);
  return object.valid() && H5Iget_type(object.get()) == H5I_GROUP;
}

std::vector<std::string> Hdf5DataFile::list(const std::string &group) const
{
  const Hdf5Quiet quiet;
  const auto names = names_in_group(file_.get(), group);
  if (!names)
    fail(fmt::format("cannot list the HDF5 group '{}' (missing or damaged); check the name after #",
                     group));
  return *names;
}

std::vector<std::string> Hdf5DataFile::groups_with(const std::string &group,
                                                   const std::string &member) const
{
  const Hdf5Quiet quiet;
  Visit visit{"/" + member, {}};
  if (visit_by_name(file_.get(), group.c_str(), H5_INDEX_NAME, H5_ITER_NATIVE, visit_object, &visit,
                    H5O_INFO_BASIC, H5P_DEFAULT) < 0)
    fail(fmt::format("cannot read the HDF5 group '{}' (missing or damaged); check the name after #",
                     group));
  std::vector<std::string> groups;
  for (const auto &name : visit.found)
    groups.push_back(name.empty() ? group : joined(group, name.substr(1)));
  std::sort(groups.begin(), groups.end());
  return groups;
}

std::vector<std::string> Hdf5DataFile::words(const std::string &name) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data = open_dataset(file_.get(), name);
  if (!data.valid())
    fail(fmt::format("HDF5 data set '{}' is missing or damaged; write the file again", name));
  std::int64_t count = 1;
  for (const auto extent : extents_of(*this, data.get(), name)) count *= extent;
  if (static_cast<std::size_t>(count) > max_words)
    fail(fmt::format("HDF5 data set '{}' has {} values, at most {} are read", name, count,
                     max_words));
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (count == 0) return {};
  if (kind == H5T_STRING)
    return strings(data.get(), type.get(), static_cast<std::size_t>(count), name);
  if (kind != H5T_INTEGER && kind != H5T_FLOAT)
    fail(fmt::format("HDF5 data set '{}' holds neither numbers nor strings; write the file again",
                     name));
  std::vector<double> values(static_cast<std::size_t>(count));
  if (H5Dread(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    fail(fmt::format("HDF5 data set '{}' cannot be read (damaged); write the file again", name));
  std::vector<std::string> list;
  for (const double value : values) {
    std::string text = std::to_string(value);  // 3.000000
    const auto zeros = text.find(".000000");
    list.push_back(zeros == std::string::npos ? text : text.substr(0, zeros));
  }
  return list;
}

/// Looks at strings of variable length before HDF5 does, see hdf5_guard.h. Not at those in chunks: these stand in
/// places that HDF5 does not tell.
bool Hdf5DataFile::are_sound(hid_t data, std::size_t count) const
{
  const haddr_t start = H5Dget_offset(data);
  if (start == HADDR_UNDEF) return true;
  const File file(path_, O_RDONLY);
  const auto read = [&](char *bytes, std::size_t size, std::int64_t offset) {
    return file.read(bytes, size, offset);
  };
  std::vector<char> stored(count * HeapReference::bytes);
  if (file.read(stored.data(), stored.size(), static_cast<std::int64_t>(start)) != stored.size())
    return false;
  for (std::size_t i = 0; i < count; ++i)
    if (!is_sound_string(read, file.size(), HeapReference(&stored[i * HeapReference::bytes])))
      return false;
  return true;
}

std::vector<std::string> Hdf5DataFile::strings(hid_t data, hid_t type, std::size_t count,
                                               const std::string &name) const
{
  const std::string problem = fmt::format(
      "strings of the HDF5 data set '{}' cannot be read (damaged); write the file again", name);
  std::vector<std::string> list;
  if (H5Tis_variable_str(type) > 0) {
    if (!are_sound(data, count)) fail(problem);
    std::vector<char *> texts(count, nullptr);
    if (H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()) < 0) fail(problem);
    for (char *text : texts) {
      list.push_back(text ? text : "");
      H5free_memory(text);
    }
    return list;
  }
  const std::size_t size = H5Tget_size(type);
  if (size == 0 || size > 1024) fail(problem);
  std::vector<char> bytes(count * size);
  if (H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0) fail(problem);
  for (std::size_t i = 0; i < count; ++i) {
    const char *text = &bytes[i * size];
    std::string value(text, ::strnlen(text, size));
    value.erase(value.find_last_not_of(' ') + 1);
    list.push_back(value);
  }
  return list;
}

Hdf5Dataset::Hdf5Dataset(std::shared_ptr<const Hdf5DataFile> file, const std::string &name) :
    file_(std::move(file)), name_(name), data_(-1, H5Dclose)
{
  const Hdf5Quiet quiet;
  data_ = open_dataset(file_->id(), name);
  if (!data_.valid())
    file_->fail(fmt::format(
        "HDF5 data set '{}' is missing, damaged or not a data set; write the file again", name));
  const Hdf5Handle type(H5Dget_type(data_.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER && kind != H5T_ENUM)
    file_->fail(fmt::format("HDF5 data set '{}' must hold numbers", name));
  shape_ = extents_of(*file_, data_.get(), name);
}

void Hdf5Dataset::read(std::int64_t first, std::int64_t count, double *values) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle space(H5Dget_space(data_.get()), H5Sclose);
  const std::int64_t total = H5Sget_simple_extent_npoints(space.get());
  if (!(first == 0 && count == total)) {
    const std::int64_t row = shape_.empty() || shape_[0] <= 0 ? 0 : total / shape_[0];
    if (row <= 0 || first % row != 0 || count % row != 0 || first + count > total)
      file_->fail(
          fmt::format("HDF5 data set '{}': its first extent must be the number of frames", name_));
    std::vector<hsize_t> start(shape_.size(), 0), extent(shape_.begin(), shape_.end());
    start[0] = static_cast<hsize_t>(first / row);
    extent[0] = static_cast<hsize_t>(count / row);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
  }
  const auto length = static_cast<hsize_t>(count);
  const Hdf5Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose);
  if (H5Dread(data_.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT, values) < 0)
    file_->fail(
        fmt::format("HDF5 data set '{}' cannot be read (damaged); write the file again", name_));
}

}  // namespace dptrain
