#include "io/hdf5_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <functional>
#include <numeric>

#include "dptrain/base/error.h"
#include "io/file.h"
#include "io/hdf5_guard.h"

namespace dptrain {

namespace {

constexpr std::size_t growth = 1 << 20;  // bytes by which a file in memory grows
// Types and names of elements, one string each: more is no data set of this kind.
constexpr std::int64_t max_words = 100000000;

Hdf5Handle memory_access()
{
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), growth, false);
  return access;
}

// Files are made in memory, where a lack of it is all that can go wrong.
const std::string in_memory = "; check that there is memory left";

/// HDF5 takes two files in memory with one name for the same file: each gets its own.
std::string memory_name()
{
  static std::atomic<unsigned long> count{0};
  return fmt::format("dptrain-in-memory-{}", ++count);
}

Hdf5Handle open_object(hid_t file, const std::string &path)
{
  return {H5Oopen(file, path.c_str(), H5P_DEFAULT), H5Oclose};
}

/// Of fixed length, or with H5T_VARIABLE of any.
Hdf5Handle text_type(std::size_t size)
{
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size);
  if (size == H5T_VARIABLE)
    H5Tset_cset(type.get(), H5T_CSET_UTF8);
  else
    H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  return type;
}

herr_t collect_name(hid_t, const char *name, const H5L_info_t *, void *names)
{
  static_cast<std::vector<std::string> *>(names)->emplace_back(name);
  return 0;
}

/// Space of one value, or of an array with these extents.
Hdf5Handle space_of(const std::vector<std::int64_t> &shape)
{
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose};
}

std::int64_t product(const std::vector<std::int64_t> &shape)
{
  return std::accumulate(shape.begin(), shape.end(), std::int64_t(1), std::multiplies<>());
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

void Hdf5File::fail(const std::string &what) const
{
  throw Error(name_ + ": " + what);
}

void Hdf5File::fail_damaged(const std::string &path) const
{
  fail(fmt::format("HDF5 data set '{}' is damaged; write the file again", path));
}

Hdf5File Hdf5File::create(const std::string &name)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle access = memory_access();
  Hdf5File file(
      {H5Fcreate(memory_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose}, name);
  if (!file.file_.valid())
    file.fail(fmt::format("cannot create an HDF5 file in memory{}", in_memory));
  return file;
}

Hdf5File Hdf5File::open(const std::string &bytes, const std::string &name)
{
  const auto read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.copy(data, count, std::min(bytes.size(), static_cast<std::size_t>(offset)));
  };
  const std::string damaged = fmt::format(
      "{}: damaged or truncated HDF5 file ({} bytes); copy or write it again", name, bytes.size());
  if (!is_sound_hdf5_start(read) || !are_sound_strings(bytes)) throw Error(damaged);
  const Hdf5Quiet quiet;
  const Hdf5Handle access = memory_access();
  // HDF5 copies the image
  H5Pset_file_image(access.get(), const_cast<char *>(bytes.data()), bytes.size());
  Hdf5File file({H5Fopen(memory_name().c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose}, name);
  if (!file.file_.valid()) throw Error(damaged);
  file.opened_bytes_ = static_cast<double>(bytes.size());
  return file;
}

Hdf5File Hdf5File::on_disk(const std::string &path)
{
  expect_regular_file(path);
  const File bytes(path, O_RDONLY);
  const auto read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.read(data, count, offset);
  };
  const Hdf5Quiet quiet;
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  // many ranks read, nobody writes; some file systems know no locks
  H5Pset_file_locking(access.get(), false, true);
#endif
  Hdf5File file({-1, H5Fclose}, path);
  if (is_sound_hdf5_start(read))
    file.file_ = {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose};
  if (!file.file_.valid())
    file.fail("not an HDF5 file, damaged, truncated or not readable; copy it again");
  file.opened_bytes_ = static_cast<double>(bytes.size());
  return file;
}

bool Hdf5File::is_hdf5(const std::string &bytes)
{
  static const std::string signature("\x89HDF\r\n\x1a\n", 8);
  return bytes.compare(0, signature.size(), signature) == 0;
}

std::string Hdf5File::bytes() const
{
  const Hdf5Quiet quiet;
  H5Fflush(file_.get(), H5F_SCOPE_GLOBAL);
  const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
  if (size <= 0) fail(fmt::format("cannot take the HDF5 file out of memory{}", in_memory));
  std::string image(size, '\0');
  if (H5Fget_file_image(file_.get(), image.data(), image.size()) != size)
    fail(fmt::format("cannot take the HDF5 file out of memory{}", in_memory));
  return image;
}

void Hdf5File::make_group(const std::string &path)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle group(
      H5Gcreate2(file_.get(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group.valid()) fail(fmt::format("cannot create the HDF5 group '{}'{}", path, in_memory));
}

bool Hdf5File::has(const std::string &path) const
{
  const Hdf5Quiet quiet;
  return H5Lexists(file_.get(), path.c_str(), H5P_DEFAULT) > 0;
}

void Hdf5File::write(const std::string &path, const std::vector<std::int64_t> &shape, hid_t stored,
                     hid_t given, const void *values)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle space = space_of(shape);
  const Hdf5Handle settings(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(settings.get(), false);  // equal content gives equal bytes
  const Hdf5Handle data(H5Dcreate2(file_.get(), path.c_str(), stored, space.get(), H5P_DEFAULT,
                                   settings.get(), H5P_DEFAULT),
                        H5Dclose);
  if (!data.valid() || (product(shape) > 0 &&
                        H5Dwrite(data.get(), given, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0))
    fail(fmt::format("cannot write the HDF5 data set '{}'{}", path, in_memory));
}

void Hdf5File::write_array(const std::string &path, const double *values,
                           const std::vector<std::int64_t> &shape, bool single)
{
  write(path, shape, single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
}

void Hdf5File::write_bytes(const std::string &path, const std::string &bytes)
{
  write(path, {static_cast<std::int64_t>(bytes.size())}, H5T_STD_U8LE, H5T_NATIVE_UCHAR,
        bytes.data());
}

Hdf5Handle Hdf5File::open_dataset(const std::string &path) const
{
  Hdf5Handle data(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.valid())
    fail(fmt::format(
        "HDF5 data set '{}' is missing, damaged or not a data set; write the file again", path));
  return data;
}

std::vector<std::int64_t> Hdf5File::shape_of(const Hdf5Handle &data, const std::string &path) const
{
  const Hdf5Handle space(H5Dget_space(data.get()), H5Sclose);
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  const auto points = static_cast<double>(H5Sget_simple_extent_npoints(space.get()));
  // compression saves a factor of 1000 at most
  if (rank < 0 || points < 0.0 ||
      points * static_cast<double>(H5Tget_size(type.get())) > 1000.0 * opened_bytes_)
    fail(fmt::format("HDF5 data set '{}' has an impossible size (damaged); write the file again",
                     path));
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  return {extents.begin(), extents.end()};
}

std::string Hdf5File::read_bytes(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data = open_dataset(path);
  const auto size = static_cast<std::size_t>(product(shape_of(data, path)));
  if (size == 0 || size != H5Dget_storage_size(data.get())) fail_damaged(path);
  std::string bytes(size, '\0');
  if (H5Dread(data.get(), H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    fail_damaged(path);
  return bytes;
}

Hdf5Array Hdf5File::read_array(const std::string &path) const
{
  const Hdf5Dataset data(*this, path);
  Hdf5Array array{data.shape(), std::vector<double>(product(data.shape()))};
  data.read(0, static_cast<std::int64_t>(array.values.size()), array.values.data());
  return array;
}

void Hdf5File::write_value(const std::string &path, const Value &value)
{
  if (const auto *array = std::get_if<std::vector<double>>(&value)) {
    write_array(path, array->data(), {static_cast<std::int64_t>(array->size())});
  } else if (const auto *text = std::get_if<std::string>(&value)) {
    const Hdf5Handle type = text_type(std::max<std::size_t>(text->size(), 1));
    write(path, {}, type.get(), type.get(), text->c_str());
  } else if (const auto *integer = std::get_if<std::int64_t>(&value)) {
    write(path, {}, H5T_STD_I64LE, H5T_NATIVE_INT64, integer);
  } else if (const auto *number = std::get_if<double>(&value)) {
    write(path, {}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, number);
  } else {
    const unsigned char flag = std::get<bool>(value) ? 1 : 0;
    write(path, {}, H5T_STD_U8LE, H5T_NATIVE_UCHAR, &flag);
  }
}

Hdf5File::Value Hdf5File::read_value(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data = open_dataset(path);
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(data.get()), H5Sclose);
  const bool is_scalar = H5Sget_simple_extent_type(space.get()) == H5S_SCALAR;
  // the types that write_value writes, and no others: conversions of damaged ones write outside their memory
  const auto is = [&](hid_t written) { return H5Tequal(type.get(), written) > 0; };
  const auto read = [&](hid_t wanted, void *value) {
    if (H5Dread(data.get(), wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) fail_damaged(path);
  };
  if (is(H5T_IEEE_F64LE) && !is_scalar) return read_array(path).values;
  if (is(H5T_IEEE_F64LE)) {
    double number = 0.0;
    read(H5T_NATIVE_DOUBLE, &number);
    return number;
  }
  if (is(H5T_STD_I64LE) && is_scalar) {
    std::int64_t integer = 0;
    read(H5T_NATIVE_INT64, &integer);
    return integer;
  }
  if (is(H5T_STD_U8LE) && is_scalar) {
    unsigned char flag = 0;
    read(H5T_NATIVE_UCHAR, &flag);
    return flag != 0;
  }
  const std::size_t size = H5Tget_size(type.get());
  if (!is_scalar || static_cast<double>(size) > opened_bytes_ || !is(text_type(size).get()))
    fail_damaged(path);
  std::string text(size, '\0');
  read(type.get(), text.data());
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::vector<std::string> Hdf5File::list(const std::string &group) const
{
  const Hdf5Quiet quiet;
  std::vector<std::string> names;
  if (H5Literate_by_name(file_.get(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr,
                         collect_name, &names, H5P_DEFAULT) < 0)
    fail(fmt::format("cannot list the HDF5 group '{}' (missing or damaged); check its name, or "
                     "write the file again",
                     group));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Hdf5File::groups_with(const std::string &group,
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

bool Hdf5File::is_group(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle object = open_object(file_.get(), path);
  return object.valid() && H5Iget_type(object.get()) == H5I_GROUP;
}

void Hdf5File::write_attribute(const std::string &object, const char *attribute, hid_t stored,
                               hid_t given, const void *value)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle owner = open_object(file_.get(), object), space = space_of({});
  const Hdf5Handle data(
      H5Acreate2(owner.get(), attribute, stored, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!data.valid() || H5Awrite(data.get(), given, value) < 0)
    fail(fmt::format("cannot write the HDF5 attribute '{}'{}", attribute, in_memory));
}

void Hdf5File::write_text(const std::string &object, const char *attribute, const std::string &text)
{
  const Hdf5Handle type = text_type(H5T_VARIABLE);
  const char *start = text.c_str();
  write_attribute(object, attribute, type.get(), type.get(), &start);
}

void Hdf5File::write_integer(const std::string &object, const char *attribute, std::int64_t value)
{
  write_attribute(object, attribute, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

Hdf5Handle Hdf5File::open_attribute(const std::string &object, const char *attribute) const
{
  const Hdf5Handle owner = open_object(file_.get(), object);
  if (!owner.valid() || H5Aexists(owner.get(), attribute) <= 0) return {-1, H5Aclose};
  return {H5Aopen(owner.get(), attribute, H5P_DEFAULT), H5Aclose};
}

std::optional<std::string> Hdf5File::read_text(const std::string &object,
                                               const char *attribute) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data = open_attribute(object, attribute);
  if (!data.valid()) return std::nullopt;
  const Hdf5Handle type(H5Aget_type(data.get()), H5Tclose);
  const Hdf5Handle space(H5Aget_space(data.get()), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1)
    return std::nullopt;
  const std::string problem =
      fmt::format("HDF5 attribute '{}' cannot be read (damaged); write the file again", attribute);
  if (H5Tis_variable_str(type.get()) > 0) {
    char *text = nullptr;
    if (H5Aread(data.get(), type.get(), &text) < 0 || !text) fail(problem);
    std::string copy(text);
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type.get()), '\0');
  if (H5Aread(data.get(), type.get(), text.data()) < 0) fail(problem);
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::optional<std::int64_t> Hdf5File::read_integer(const std::string &object,
                                                   const char *attribute) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data = open_attribute(object, attribute);
  if (!data.valid()) return std::nullopt;
  std::int64_t value = 0;
  if (H5Aread(data.get(), H5T_NATIVE_INT64, &value) < 0) return std::nullopt;
  return value;
}

std::vector<std::string> Hdf5File::words(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data = open_dataset(path);
  const std::int64_t count = product(shape_of(data, path));
  if (count > max_words)
    fail(fmt::format("HDF5 data set '{}' has {} values, at most {} are read", path, count,
                     max_words));
  if (count == 0) return {};
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  if (H5Tget_class(type.get()) == H5T_STRING)
    return strings(data, static_cast<std::size_t>(count), path);
  std::vector<std::string> list;
  for (const double value : read_array(path).values) {
    std::string text = std::to_string(value);  // 3.000000
    const auto zeros = text.find(".000000");
    list.push_back(zeros == std::string::npos ? text : text.substr(0, zeros));
  }
  return list;
}

/// Looks at strings of variable length before HDF5 does, see hdf5_guard.h. Not at those in chunks: these stand in
/// places that HDF5 does not tell.
bool Hdf5File::are_sound(const Hdf5Handle &data, std::size_t count) const
{
  const haddr_t start = H5Dget_offset(data.get());
  if (start == HADDR_UNDEF) return true;
  const File file(name_, O_RDONLY);
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

std::vector<std::string> Hdf5File::strings(const Hdf5Handle &data, std::size_t count,
                                           const std::string &path) const
{
  const std::string problem = fmt::format(
      "strings of the HDF5 data set '{}' cannot be read (damaged); write the file again", path);
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  std::vector<std::string> list;
  if (H5Tis_variable_str(type.get()) > 0) {
    if (!are_sound(data, count)) fail(problem);
    std::vector<char *> texts(count, nullptr);
    if (H5Dread(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()) < 0)
      fail(problem);
    for (char *text : texts) {
      list.push_back(text ? text : "");
      H5free_memory(text);
    }
    return list;
  }
  const std::size_t size = H5Tget_size(type.get());
  if (size == 0 || size > 1024) fail(problem);
  std::vector<char> bytes(count * size);
  if (H5Dread(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    fail(problem);
  for (std::size_t i = 0; i < count; ++i) {
    const char *text = &bytes[i * size];
    std::string value(text, ::strnlen(text, size));
    value.erase(value.find_last_not_of(' ') + 1);
    list.push_back(value);
  }
  return list;
}

Hdf5Dataset::Hdf5Dataset(const Hdf5File &file, const std::string &path) :
    file_(file), path_(path), data_(-1, H5Dclose)
{
  const Hdf5Quiet quiet;
  data_ = file.open_dataset(path);
  const Hdf5Handle type(H5Dget_type(data_.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER && kind != H5T_ENUM)
    file.fail(fmt::format("HDF5 data set '{}' must hold numbers", path));
  constexpr std::size_t largest_number = 16;  // bytes; HDF5 makes buffers of a damaged size
  if (H5Tget_size(type.get()) > largest_number) file.fail_damaged(path);
  shape_ = file.shape_of(data_, path);
}

void Hdf5Dataset::read(std::int64_t first, std::int64_t count, double *values) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle space(H5Dget_space(data_.get()), H5Sclose);
  const std::int64_t total = product(shape_);
  if (total == 0 && count == 0) return;
  if (!(first == 0 && count == total)) {
    const std::int64_t row = shape_.empty() || shape_[0] <= 0 ? 0 : total / shape_[0];
    if (row <= 0 || first % row != 0 || count % row != 0 || first + count > total)
      file_.fail(
          fmt::format("HDF5 data set '{}': its first extent must be the number of frames", path_));
    std::vector<hsize_t> start(shape_.size(), 0), extent(shape_.begin(), shape_.end());
    start[0] = static_cast<hsize_t>(first / row);
    extent[0] = static_cast<hsize_t>(count / row);
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
  }
  const auto length = static_cast<hsize_t>(count);
  const Hdf5Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose);
  if (H5Dread(data_.get(), H5T_NATIVE_DOUBLE, memory.get(), space.get(), H5P_DEFAULT, values) < 0)
    file_.fail_damaged(path_);
}

}  // namespace dptrain
