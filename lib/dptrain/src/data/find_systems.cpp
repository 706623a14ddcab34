// Names of systems: what DeePMD-kit's process_systems() does, and patterns.

#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "data/data_path.h"
#include "dptrain/base/error.h"
#include "dptrain/data/data_set.h"
#include "io/hdf5_file.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

bool is_system_folder(const fs::path &folder)
{
  std::error_code ignored;
  return fs::is_regular_file(folder / "type.raw", ignored);
}

/// Calls `use` for everything below a folder. Links to folders are not followed.
template <typename Use> void walk(const std::string &root, Use &&use)
{
  try {
    for (const auto &item : fs::recursive_directory_iterator(root)) use(item.path());
  } catch (const fs::filesystem_error &error) {
    throw Error(fmt::format("cannot search the folder '{}': {}; check its permissions", root,
                            error.what()));
  }
}

/// The folder itself and all below it that are systems, sorted.
Names systems_below(const std::string &root)
{
  Names found;
  if (is_system_folder(root)) found.push_back(root);
  walk(root, [&](const fs::path &path) {
    if (is_system_folder(path)) found.push_back(path.string());
  });
  std::sort(found.begin(), found.end());
  return found;
}

Names parts_of(const fs::path &path)
{
  Names parts;
  for (const auto &part : path) parts.push_back(part.string());
  return parts;
}

/// Part by part; ** stands for any number of folders.
bool matches(const Names &pattern, std::size_t i, const Names &path, std::size_t j)
{
  if (i == pattern.size()) return j == path.size();
  if (pattern[i] == "**") {
    for (std::size_t next = j; next <= path.size(); ++next)
      if (matches(pattern, i + 1, path, next)) return true;
    return false;
  }
  return j < path.size() && ::fnmatch(pattern[i].c_str(), path[j].c_str(), 0) == 0 &&
         matches(pattern, i + 1, path, j + 1);
}

/// Files that hold systems are found by patterns that end as they do (*.extxyz), not by all that fit.
bool is_wanted_file(const fs::path &path, const std::string &pattern)
{
  const std::string extension = path.extension().string();
  std::error_code ignored;
  return (extension == ".extxyz" || extension == ".xyz" || extension == ".hdf5" ||
          extension == ".h5" || extension == ".frames") &&
         fs::path(pattern).extension() == extension && fs::is_regular_file(path, ignored);
}

/// HDF5: all groups that are systems; others as they are.
Names systems_of(const std::string &name)
{
  const DataPath path = parse_data_path(name);
  if (path.kind == DataPath::Kind::folder) return systems_below(name);
  if (path.kind != DataPath::Kind::hdf5) return {name};
  const Hdf5File file = Hdf5File::on_disk(path.file);
  std::string group = path.group.empty() ? "/" : path.group;
  while (group.size() > 1 && group.back() == '/') group.pop_back();
  Names found;
  for (const auto &member : file.groups_with(group, "type.raw"))
    found.push_back(path.file + "#" + member);
  return found;
}

Names search(const std::string &root, const Names &patterns)
{
  std::error_code ignored;
  if (!fs::is_directory(root, ignored))
    throw Error(
        fmt::format("systems: '{}' is no folder; rglob_patterns needs folders to search", root));
  Names found;
  walk(root, [&](const fs::path &path) {
    const Names parts = parts_of(path.lexically_relative(root));
    for (const auto &pattern : patterns) {
      Names anywhere = parts_of(pattern);
      anywhere.insert(anywhere.begin(), "**");
      if (!matches(anywhere, 0, parts, 0)) continue;
      if (is_system_folder(path))
        found.push_back(path.string());
      else if (is_wanted_file(path, pattern))
        for (const auto &name : systems_of(path.string())) found.push_back(name);
    }
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

/// Files and folders that a pattern stands for; a name without * ? [ is itself, and so is one that exists.
Names expand(const std::string &name)
{
  std::error_code ignored;
  if (name.find_first_of("*?[") == std::string::npos || fs::exists(name, ignored)) return {name};
  const auto mark = name.rfind('#');
  const std::string pattern = name.substr(0, mark);
  const std::string group = mark == std::string::npos ? "" : name.substr(mark);
  glob_t list{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &list);
  Names found;
  for (std::size_t i = 0; status == 0 && i < list.gl_pathc; ++i)
    found.push_back(list.gl_pathv[i] + group);
  ::globfree(&list);
  if (status != 0)
    throw Error(fmt::format("systems: nothing matches the pattern '{}'; check it", name));
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::vector<std::string> find_systems(const std::vector<std::string> &systems,
                                      const std::vector<std::string> &rglob_patterns,
                                      const std::string &base)
{
  Names all;
  for (const auto &entry : systems) {
    if (entry.empty()) throw Error("systems: an entry is empty; name a system or a folder");
    const bool relative = entry[0] != '/' && !base.empty();
    const Names names = expand(relative ? (fs::path(base) / entry).string() : entry);
    Names found;
    for (const auto &name : names) {
      const Names here = rglob_patterns.empty() ? systems_of(name) : search(name, rglob_patterns);
      found.insert(found.end(), here.begin(), here.end());
    }
    if (found.empty())
      throw Error(fmt::format(
          "systems: '{}' holds no system{}", entry,
          rglob_patterns.empty() ? ": no folder with a file type.raw at or below it; name extended "
                                   "XYZ files one by one or by a pattern (FOLDER/*.extxyz)"
                                 : " that matches rglob_patterns; check the patterns"));
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace dptrain
