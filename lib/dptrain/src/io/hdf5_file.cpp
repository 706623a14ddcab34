#include "io/hdf5_file.h"

#include <algorithm>
#include <atomic>
#include <cstring>

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

/// HDF5 takes two files in memory with one name for the same file: each gets its own.
std::string memory_name()
{
  static std::atomic<unsigned long> count{0};
  return "dptrain-in-memory-" + std::to_string(++count);
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
  if (!file.file_.valid()) file.fail("cannot create an HDF5 file in memory");
  return file;
}

Hdf5File Hdf5File::open(const std::string &bytes, const std::string &name, bool writable)
{
  const auto read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.copy(data, count, std::min(bytes.size(), static_cast<std::size_t>(offset)));
  };
  const std::string damaged = name + ": damaged or truncated HDF5 file (" +
                              std::to_string(bytes.size()) + " bytes); copy or write it again";
  if (!is_sound_hdf5_start(read) || !are_sound_strings(bytes)) throw Error(damaged);
  const Hdf5Quiet quiet;
  const Hdf5Handle access = memory_access();
  // HDF5 copies the image
  H5Pset_file_image(access.get(), const_cast<char *>(bytes.data()), bytes.size());
  const unsigned mode = writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY;
  Hdf5File file({H5Fopen(memory_name().c_str(), mode, access.get()), H5Fclose}, name);
  if (!file.file_.valid()) throw Error(damaged);
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
  if (size <= 0) fail("cannot take the HDF5 file out of memory");
  std::string image(size, '\0');
  if (H5Fget_file_image(file_.get(), image.data(), image.size()) != size)
    fail("cannot take the HDF5 file out of memory");
  return image;
}

void Hdf5File::make_group(const std::string &path)
{
  const Hdf5Quiet quiet;
  const Hdf5Handle group(
      H5Gcreate2(file_.get(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group.valid()) fail("cannot create the HDF5 group '" + path + "'");
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
    fail("cannot remove '" + path + "' from the HDF5 file");
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
    fail("cannot write the HDF5 data set '" + path + "'");
}

void Hdf5File::write_texts(const std::string &path, const std::vector<std::string> &texts)
{
  const Hdf5Quiet quiet;
  std::size_t length = 1;
  for (const auto &text : texts) length = std::max(length, text.size());
  std::string block;
  for (const auto &text : texts) block += text + std::string(length - text.size(), '\0');
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), length);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  const Hdf5Handle space = space_of({static_cast<std::int64_t>(texts.size())});
  const Hdf5Handle data(H5Dcreate2(file_.get(), path.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                   H5P_DEFAULT, H5P_DEFAULT),
                        H5Dclose);
  if (!data.valid() || (!texts.empty() && H5Dwrite(data.get(), type.get(), H5S_ALL, H5S_ALL,
                                                   H5P_DEFAULT, block.data()) < 0))
    fail("cannot write the HDF5 data set '" + path + "'");
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
    fail("cannot write the HDF5 data set '" + path + "'");
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
    fail("HDF5 data set '" + path + "' is missing or damaged; write the file again");
  return bytes;
}

Hdf5Array Hdf5File::read_array(const std::string &path) const
{
  const Hdf5Quiet quiet;
  const Hdf5Handle data(H5Dopen2(file_.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!data.valid())
    fail("HDF5 data set '" + path + "' is missing or damaged; write the file again");
  const Hdf5Handle type(H5Dget_type(data.get()), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind != H5T_FLOAT && kind != H5T_INTEGER)
    fail("HDF5 data set '" + path + "' does not hold numbers");
  const Hdf5Handle space(H5Dget_space(data.get()), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) fail("HDF5 data set '" + path + "' is damaged; write the file again");
  std::vector<hsize_t> extents(rank);
  H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr);
  Hdf5Array array;
  array.shape.assign(extents.begin(), extents.end());
  // a damaged extent could ask for any amount of memory; compression saves a factor of 1000 at most
  hsize_t file_size = 0;
  H5Fget_filesize(file_.get(), &file_size);
  const hssize_t points = H5Sget_simple_extent_npoints(space.get());
  if (points < 0 || static_cast<hsize_t>(points) / 1000 > file_size)
    fail("HDF5 data set '" + path + "' is damaged; write the file again");
  array.values.resize(points);
  if (!array.values.empty() && H5Dread(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                       array.values.data()) < 0)
    fail("HDF5 data set '" + path + "' cannot be read (damaged); write the file again");
  return array;
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
    fail(std::string("cannot write the HDF5 attribute '") + attribute + "'");
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
    fail(std::string("cannot write the HDF5 attribute '") + attribute + "'");
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
      std::string("HDF5 attribute '") + attribute + "' cannot be read (damaged file)";
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
