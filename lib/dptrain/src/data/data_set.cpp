#include "dptrain/data/data_set.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/advice.h"
#include "data/data_path.h"
#include "data/deepmd_system.h"
#include "data/extxyz_system.h"
#include "data/frames_record.h"
#include "data/frames_system.h"
#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "io/file.h"
#include "io/hdf5_file.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;

std::shared_ptr<const SystemTree> open_tree(const DataPath &path)
{
  return path.kind == DataPath::Kind::hdf5 ? open_hdf5_tree(path.file, path.group)
                                           : open_npy_tree(path.file);
}

/// Of a file, by its first bytes, or by the name if those of an HDF5 file are damaged.
DataPath::Kind kind_of(const std::string &path)
{
  const std::string extension = fs::path(path).extension().string();
  std::string start(8, '\0');
  start.resize(File(path, O_RDONLY).read(start.data(), start.size(), 0));
  if (is_frames_file(start)) return DataPath::Kind::frames;
  const bool named_hdf5 = extension == ".hdf5" || extension == ".h5" || extension == ".hdf";
  return named_hdf5 || Hdf5File::is_hdf5(start) ? DataPath::Kind::hdf5 : DataPath::Kind::extxyz;
}

}  // namespace

DataPath parse_data_path(const std::string &name)
{
  std::error_code code;
  if (fs::is_directory(name, code)) return {DataPath::Kind::folder, name, ""};
  const bool exists = fs::exists(name, code);
  const auto mark = exists ? std::string::npos : name.rfind('#');
  DataPath path{DataPath::Kind::extxyz, name.substr(0, mark), ""};
  if (mark != std::string::npos) {
    path.group = name.substr(mark + 1);
    if (path.group.empty() || path.group[0] != '/') path.group = "/" + path.group;
  }
  if (!fs::exists(path.file, code))
    throw Error(fmt::format("data set '{}': no such file or folder; check the name", path.file));
  if (fs::is_directory(path.file, code))
    throw Error(fmt::format("data set '{}': '{}' is a folder; FILE#/GROUP needs an HDF5 file", name,
                            path.file));
  expect_regular_file(path.file);
  path.kind = mark != std::string::npos ? DataPath::Kind::hdf5 : kind_of(path.file);
  return path;
}

void DataSystem::require(std::int64_t frame) const
{
  if (frame < 0 || frame >= num_frames())
    throw internal_error(
        fmt::format("{}: frame {} of {} was asked for", name(), frame, num_frames()));
}

std::shared_ptr<const DataSystem> open_system(const std::string &path, const DataOptions &options)
{
  const DataPath place = parse_data_path(path);
  if (place.kind == DataPath::Kind::extxyz) return open_extxyz_system(path, options);
  if (place.kind == DataPath::Kind::frames) return open_frames_system(path, options);
  return open_deepmd_system(path, *open_tree(place), options);
}

std::int64_t num_frames(const Systems &systems)
{
  std::int64_t frames = 0;
  for (const auto &system : systems) frames += system->num_frames();
  return frames;
}

std::vector<WholeFrame> read_npy_system(const std::string &dir,
                                        const std::vector<std::string> &type_map)
{
  DataOptions options;
  options.type_map = type_map;
  const auto system = open_system(dir, options);
  std::vector<WholeFrame> frames;
  for (std::int64_t k = 0; k < system->num_frames(); ++k) frames.push_back(system->read(k));
  return frames;
}

std::vector<std::string> elements_of(const std::vector<std::string> &paths,
                                     const std::string &set_prefix)
{
  std::vector<std::string> elements;
  for (const auto &path : paths) {
    const DataPath place = parse_data_path(path);
    const auto names = place.kind == DataPath::Kind::extxyz ? elements_of_extxyz(path)
                       : place.kind == DataPath::Kind::frames
                           ? elements_of_frames(path)
                           : elements_of_deepmd(*open_tree(place), set_prefix);
    for (const auto &name : names)
      if (std::find(elements.begin(), elements.end(), name) == elements.end())
        elements.push_back(name);
  }
  return elements;
}

}  // namespace dptrain
