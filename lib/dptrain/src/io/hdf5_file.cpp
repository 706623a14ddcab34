#include "io/hdf5_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "io/hdf5_guard.h"

namespace dptrain {

namespace {

constexpr std::size_t growth = 1 << 20;  // bytes by which a file in memory grows

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

Hdf5Handle text_type()
{
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

Hdf5Handle fixed_text_type(std::size_t size)
{
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size);
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

}  // namespace

void Hdf5File::fail(const std::string &what) const
{
  throw Error(name_ + ": " + what);
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

Hdf5File Hdf5File::open(const std::string &bytes, const std::string &name, bool writable)
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
  const unsigned mode = writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY;
  Hdf5File file({H5Fopen(memory_name().c_str(), mode, access.get()), H5Fclose}, name);
  if (!file.file_.valid()) throw Error(damaged);
  file.opened_bytes_ = bytes.size();
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

void Hdf5File::remove(const std::string &path)
{
  const Hdf5Quiet quiet;
  if (H5Ldelete(file_.get(), path.c_str(), H5P_DEFAULT) < 0)
    fail(fmt::format("cannot remove '{}' from the HDF5 file{}", path, in_memory));
}

void Hdf5File::write_array(const std::string &path, const double *values,
                           const std::vector<std::int64_t> &shape, bool single)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle space = space_of(shape);
  const Hdf5Handle settings(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(settings.get(), false);  // equal content gives equal bytes
  const Hdf5Handle data(H5Dcreate2(file_.get(), path.c_str(),
                                   single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, space.get(),
                                   H5P_DEFAULT, settings.get(), H5P_DEFAULT),
                        H5Dclose);
  if (!data.valid() ||
      (H5Sget_simple_extent_npoints(space.get()) > 0 &&
       H5Dwrite(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0))
    fail(fmt::format("cannot write the HDF5 data set '{}'{}", path, in_memory));
}

void Hdf5File::write_bytes(const std::string &path, const std::string &bytes)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle space = space_of({static_cast<std::int64_t>(bytes.size())});
  const Hdf5Handle settings(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(settings.get(), false);
  const Hdf5Handle data(H5Dcreate2(file_.get(), path.c_str(), H5T_STD_U8LE, space.get(),
                                   H5P_DEFAULT, settings.get(), H5P_DEFAULT),
                        H5Dclose);
  if (!data.valid() ||
      H5Dwrite(data.get(), H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    fail(fmt::format("cannot write the HDF5 data set '{}'{}", path, in_memory));
}

std::string Hdf5File::read_bytes(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  const hsize_t size = data.valid() ? H5Dget_storage_size(data.get()) : 0;
  const Hdf5Handle space(data.valid() ? H5Dget_space(data.get()) : H5I_INVALID_HID, H5Sclose);
  const hssize_t points = space.valid() ? H5Sget_simple_extent_npoints(space.get()) : -1;
  std::string bytes;
  if (points > 0 && static_cast<hsize_t>(points) == size) bytes.resize(size);
  if (bytes.empty() ||
      H5Dread(data.get(), H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    fail(fmt::format("HDF5 data set '{}' is missing or damaged; write the file again", path));
  return bytes;
}

Hdf5Array Hdf5File::read_array(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.valid())
    fail(fmt::format("HDF5 data set '{}' is missing or damaged; write the file again", path));
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER)
    fail(fmt::format("HDF5 data set '{}' must hold numbers", path));
  constexpr std::size_t largest_number = 16;  // bytes; HDF5 makes buffers of a damaged size
  if (H5Tget_size(type.get()) > largest_number)
    fail(fmt::format("HDF5 data set '{}' is damaged; write the file again", path));
  const Hdf5Handle space(H5Dget_space(data.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) fail(fmt::format("HDF5 data set '{}' is damaged; write the file again", path));
  std::vector<hsize_t> extents(rank);
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  Hdf5Array array;
  array.shape.assign(extents.begin(), extents.end());
  // a damaged extent could ask for any amount of memory; compression saves a factor of 1000 at most
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (points < 0 || static_cast<std::uint64_t>(points) / 1000 > opened_bytes_)
    fail(fmt::format("HDF5 data set '{}' is damaged; write the file again", path));
  array.values.resize(points);
  if (!array.values.empty() && H5Dread(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                       array.values.data()) < 0)
    fail(fmt::format("HDF5 data set '{}' cannot be read (damaged); write the file again", path));
  return array;
}

void Hdf5File::write_scalar(const std::string &path, hid_t stored, hid_t given, const void *value)
{
  const Hdf5Handle space = space_of({});
  const Hdf5Handle settings(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(settings.get(), false);
  const Hdf5Handle data(H5Dcreate2(file_.get(), path.c_str(), stored, space.get(), H5P_DEFAULT,
                                   settings.get(), H5P_DEFAULT),
                        H5Dclose);
  if (!data.valid() || H5Dwrite(data.get(), given, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0)
    fail(fmt::format("cannot write the HDF5 data set '{}'{}", path, in_memory));
}

void Hdf5File::write_value(const std::string &path, const Value &value)
{
  const Hdf5Quiet quiet;
  if (const auto *array = std::get_if<std::vector<double>>(&value)) {
    write_array(path, array->data(), {static_cast<std::int64_t>(array->size())});
  } else if (const auto *text = std::get_if<std::string>(&value)) {
    const Hdf5Handle type = fixed_text_type(std::max<std::size_t>(text->size(), 1));
    write_scalar(path, type.get(), type.get(), text->c_str());
  } else if (const auto *integer = std::get_if<std::int64_t>(&value)) {
    write_scalar(path, H5T_STD_I64LE, H5T_NATIVE_INT64, integer);
  } else if (const auto *number = std::get_if<double>(&value)) {
    write_scalar(path, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, number);
  } else {
    const unsigned char flag = std::get<bool>(value) ? 1 : 0;
    write_scalar(path, H5T_STD_U8LE, H5T_NATIVE_UCHAR, &flag);
  }
}

Hdf5File::Value Hdf5File::read_value(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const std::string problem =
      fmt::format("HDF5 data set '{}' is damaged; write the file again", path);
  const Hdf5Handle data(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.valid()) fail(problem);
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  const Hdf5Handle space(H5Dget_space(data.get()), H5Sclose);
  const bool is_scalar = H5Sget_simple_extent_type(space.get()) == H5S_SCALAR;
  // the types that write_value writes, and no others: conversions of damaged ones write outside their memory
  const auto is = [&](hid_t written) { return H5Tequal(type.get(), written) > 0; };
  const auto read = [&](hid_t wanted, void *value) {
    if (H5Dread(data.get(), wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) < 0) fail(problem);
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
  if (!is_scalar || size > opened_bytes_ || !is(fixed_text_type(size).get())) fail(problem);
  std::string text(size, '\0');
  read(type.get(), text.data());
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::optional<std::vector<std::string>> names_in_group(hid_t file, const std::string &group)
{
  std::vector<std::string> names;
  if (H5Literate_by_name(file, group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name,
                         &names, H5P_DEFAULT) < 0)
    return std::nullopt;
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Hdf5File::list(const std::string &group) const
{
  const Hdf5Quiet quiet;
  const auto names = names_in_group(file_.get(), group);
  if (!names)
    fail(fmt::format("cannot list the HDF5 group '{}' (missing or damaged); write the file again",
                     group));
  return *names;
}

bool Hdf5File::is_group(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle object = open_object(file_.get(), path);
  return object.valid() && H5Iget_type(object.get()) == H5I_GROUP;
}

void Hdf5File::write_text(const std::string &object, const char *attribute, const std::string &text)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle owner = open_object(file_.get(), object);
  const Hdf5Handle type = text_type();
  const Hdf5Handle space = space_of({});
  const Hdf5Handle data(
      H5Acreate2(owner.get(), attribute, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  const char *start = text.c_str();
  if (!data.valid() || H5Awrite(data.get(), type.get(), &start) < 0)
    fail(fmt::format("cannot write the HDF5 attribute '{}'{}", attribute, in_memory));
}

void Hdf5File::write_integer(const std::string &object, const char *attribute, std::int64_t value)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle owner = open_object(file_.get(), object);
  const Hdf5Handle space = space_of({});
  const Hdf5Handle data(
      H5Acreate2(owner.get(), attribute, H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  if (!data.valid() || H5Awrite(data.get(), H5T_NATIVE_INT64, &value) < 0)
    fail(fmt::format("cannot write the HDF5 attribute '{}'{}", attribute, in_memory));
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

}  // namespace dptrain
