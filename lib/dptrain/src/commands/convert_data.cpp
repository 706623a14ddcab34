#include "commands/convert_data.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "data/data_path.h"
#include "dptrain/base/error.h"
#include "dptrain/data/data_set.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/io/atomic_file.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;
using Add = std::function<void(const WholeFrame &)>;

bool is_xyz(const fs::path &path)
{
  return path.extension() == ".xyz" || path.extension() == ".extxyz";
}

/// The folder appears with all that is in it.
void write_folder(const std::string &path, const std::function<void(const std::string &)> &write)
{
  std::string temporary = path + ".XXXXXX";
  std::error_code ignored;
  if (!::mkdtemp(temporary.data()))
    throw Error(fmt::format("cannot create the folder '{}': {}; check space and permissions, or "
                            "choose another place",
                            path, std::strerror(errno)));
  fs::permissions(temporary,
                  fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                      fs::perms::others_read | fs::perms::others_exec,
                  ignored);
  try {
    write(temporary);
    fs::rename(temporary, path);
  } catch (const fs::filesystem_error &error) {
    fs::remove_all(temporary, ignored);
    throw Error(fmt::format("cannot create the folder '{}': {}; check space and permissions, or "
                            "choose another place",
                            path, error.code().message()));
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
}

}  // namespace

bool is_data_name(const std::string &name)
{
  const fs::path path = name.ends_with("/") ? fs::path(name).parent_path() : fs::path(name);
  return is_xyz(path) || path.extension() == ".frames" || path.extension().empty();
}

ConvertedData convert_data(const std::string &from, const std::string &to)
{
  const std::string target = to.ends_with("/") ? to.substr(0, to.size() - 1) : to;
  if (fs::exists(target))
    throw Error(fmt::format("{} is there already: give another name, or remove it first", target));
  const std::vector<std::string> paths = find_systems({from});
  const std::vector<std::string> type_map = elements_of(paths);
  Systems systems;
  DataOptions options;
  options.type_map = type_map;
  for (const std::string &path : paths) systems.push_back(open_system(path, options));
  ConvertedData done{num_frames(systems), ""};
  if (done.frames == 0)
    throw Error(fmt::format("{} has no frames: give data with at least one", from));
  const auto for_all = [&](const Add &add) {
    for (const auto &system : systems)
      for (std::int64_t k = 0; k < system->num_frames(); ++k) {
        WholeFrame frame = system->read(k);
        frame.step = system->time_step(k);
        add(frame);
      }
  };
  if (is_xyz(target))
    write_atomically(target, [&](const std::string &name) {
      for_all([&](const WholeFrame &frame) { append_to_extxyz(name, type_map, frame); });
    });
  else if (fs::path(target).extension() == ".frames")
    write_atomically(target, [&](const std::string &name) {
      FramesFile file(name, type_map, 0);
      for_all([&](const WholeFrame &frame) { file.append(frame); });
    });
  else
    write_folder(target, [&](const std::string &name) {
      for_all([&](const WholeFrame &frame) { append_to_dataset(name, type_map, frame); });
    });
  for (const std::string &path : paths)
    if (parse_data_path(path).kind == DataPath::Kind::frames && FramesFile::is_cut(path))
      done.cut += (done.cut.empty() ? "" : " ") + path;
  return done;
}

}  // namespace dptrain
