#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "data/npy.h"
#include "dptrain/error.h"
#include "dptrain/files.h"
#include "io/file.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> words(const std::string &path)
{
  std::istringstream text(read_file(path));
  std::vector<std::string> list;
  for (std::string word; text >> word;) list.push_back(word);
  return list;
}

std::string join(const std::vector<std::string> &names)
{
  std::string all;
  for (const auto &name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

/// Index in the model of each type of the system: by name, or as it is without type_map.raw.
std::vector<int> map_types(const std::string &dir, const std::vector<std::string> &type_map)
{
  std::vector<int> map;
  if (!fs::exists(dir + "/type_map.raw")) {
    for (std::size_t type = 0; type < type_map.size(); ++type) map.push_back(int(type));
    return map;
  }
  for (const auto &name : words(dir + "/type_map.raw")) {
    const auto found = std::find(type_map.begin(), type_map.end(), name);
    map.push_back(found == type_map.end() ? -1 : int(found - type_map.begin()));
  }
  return map;
}

std::vector<int> read_types(const std::string &dir, const std::vector<std::string> &type_map)
{
  const std::string path = dir + "/type.raw";
  const std::vector<int> map = map_types(dir, type_map);
  std::vector<int> types;
  for (const auto &word : words(path)) {
    char *end = nullptr;
    const long type = std::strtol(word.c_str(), &end, 10);
    if (*end != '\0') throw Error(path + ": found '" + word + "', expected integers");
    if (type < 0 || type >= static_cast<long>(map.size()))
      throw Error(path + ": found type " + word + ", but there are only the types 0 to " +
                  std::to_string(map.size() - 1));
    if (map[type] < 0)
      throw Error(dir + "/type_map.raw: element " + words(dir + "/type_map.raw")[type] +
                  " is not in the model (it has " + join(type_map) +
                  "); train a model with this element or leave the system out");
    types.push_back(map[type]);
  }
  if (types.empty()) throw Error(path + ": names no atom");
  return types;
}

/// Folders set.*, in order of their names.
std::vector<std::string> find_sets(const std::string &dir)
{
  std::vector<std::string> sets;
  for (const auto &name : list_folder(dir))
    if (name.compare(0, 4, "set.") == 0) sets.push_back(dir + "/" + name);
  if (sets.empty())
    throw Error(dir + ": no folder set.000 (set.*); not a data set in DeePMD-kit's npy format");
  return sets;
}

/// One array of a set, [frames][width]; empty if the file is absent.
std::vector<double> read_label(const std::string &path, std::size_t frames, std::size_t width)
{
  if (!fs::exists(path)) return {};
  NpyArray array = read_npy(path);
  if (array.values.size() != frames * width) {
    std::string shape;
    for (const auto extent : array.shape)
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    throw Error(path + ": shape (" + shape + "), expected " + std::to_string(frames) +
                " frames of " + std::to_string(width) + " numbers");
  }
  return std::move(array.values);
}

/// All arrays of one set.
struct Set {
  Set(const std::string &dir, std::size_t natoms, bool periodic)
  {
    if (fs::exists(dir + "/real_atom_types.npy"))
      throw Error(dir + "/real_atom_types.npy: data sets with mixed types are not supported; write "
                        "one system per composition (dpdata: to_deepmd_npy)");
    const std::string path = dir + "/coord.npy";
    const NpyArray array = read_npy(path);
    const std::size_t width = 3 * natoms;
    if (array.values.size() % width != 0 ||
        (array.shape.size() == 2 && array.shape[1] != std::int64_t(width)))
      throw Error(path + ": " + std::to_string(array.values.size()) +
                  " numbers are no whole frames of " + std::to_string(natoms) +
                  " atoms, as type.raw has them");
    frames = array.values.size() / width;
    coord = array.values;
    box = read_label(dir + "/box.npy", frames, 9);
    if (periodic && box.empty() && frames > 0)
      throw Error(dir + "/box.npy: missing; a system without a cell has a file 'nopbc' beside "
                        "type.raw");
    energy = read_label(dir + "/energy.npy", frames, 1);
    force = read_label(dir + "/force.npy", frames, width);
    virial = read_label(dir + "/virial.npy", frames, 9);
  }
  std::size_t frames = 0;
  std::vector<double> coord, box, energy, force, virial;
};

}  // namespace

std::vector<WholeFrame> read_npy_system(const std::string &dir,
                                        const std::vector<std::string> &type_map)
{
  if (!fs::is_directory(dir)) throw Error("data set '" + dir + "': no such folder; check the name");
  const auto types = read_types(dir, type_map);
  const std::size_t width = 3 * types.size();
  const bool periodic = !fs::exists(dir + "/nopbc");
  std::vector<WholeFrame> frames;
  for (const auto &name : find_sets(dir)) {
    const Set set(name, types.size(), periodic);
    for (std::size_t k = 0; k < set.frames; ++k) {
      WholeFrame frame;
      frame.step = static_cast<std::int64_t>(frames.size());
      frame.type = types;
      frame.periodic = periodic;
      const auto row = [k](const std::vector<double> &array, std::size_t n) {
        return std::vector<double>(array.begin() + k * n, array.begin() + (k + 1) * n);
      };
      frame.coord = row(set.coord, width);
      if (!set.box.empty()) std::copy_n(set.box.begin() + k * 9, 9, frame.box.begin());
      if (!set.energy.empty()) frame.label.energy = set.energy[k];
      if (!set.force.empty()) frame.label.force = row(set.force, width);
      if (!set.virial.empty())
        std::copy_n(set.virial.begin() + k * 9, 9, frame.label.virial.emplace().begin());
      frames.push_back(std::move(frame));
    }
  }
  return frames;
}

}  // namespace dptrain
