#include "data/deepmd_layout.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "base/text_words.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

/// Names are DeePMD-kit's; its reader takes both names of what belongs to atoms.
struct ItemInfo {
  const char *name, *other_name;
  int width;
  bool atomic;
};

constexpr ItemInfo items[] = {{"coord", nullptr, 3, true},
                              {"box", nullptr, 9, false},
                              {"energy", nullptr, 1, false},
                              {"force", nullptr, 3, true},
                              {"virial", nullptr, 9, false},
                              {"total_charge", nullptr, 1, false},
                              {"frame_weight", nullptr, 1, false},
                              {"atom_ener", "atomic_ener", 1, true},
                              {"atom_pref", "atomic_pref", 1, true},
                              {"atom_ener_coeff", "atomic_ener_coeff", 1, true},
                              {"drdq", nullptr, 3, true},
                              {"real_atom_types", nullptr, 1, true}};

constexpr std::size_t num_items = static_cast<std::size_t>(Item::count);

bool contains(const std::vector<std::string> &sorted, const std::string &name)
{
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

/// Folders set.*, in order of their names.
std::vector<std::string> find_sets(const SystemTree &tree, const std::string &prefix)
{
  const std::string pattern = prefix + ".*";
  std::vector<std::string> sets;
  for (const auto &name : tree.list(""))
    if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0 && tree.is_folder(name))
      sets.push_back(name);
  if (sets.empty())
    throw Error(fmt::format(
        "{}: no folder {} (set.000, ...); a data set in DeePMD-kit's format needs at least one",
        tree.path_of(""), pattern));
  return sets;
}

/// Frames of a set: the rows of coord; a one-dimensional array is a single frame.
std::int64_t frames_of(const StoredArray &coord)
{
  const auto &shape = coord.shape();
  return shape.size() > 1 ? shape.front() : 1;
}

}  // namespace

DeepmdLayout::DeepmdLayout(const SystemTree &tree, const DataOptions &options) :
    type_path(tree.path_of("type.raw")),
    names_path(tree.path_of("type_map.raw")),
    root_path(tree.path_of("")),
    numb_generalized_coord(options.numb_generalized_coord),
    num_fparam(options.num_fparam)
{
  read_types(tree);
  const std::vector<std::string> folders = find_sets(tree, options.set_prefix);
  for (const auto &folder : folders) {
    const bool has_types = contains(tree.list(folder), "real_atom_types.npy");
    if (folder != folders.front() && has_types != mixed)
      throw Error(fmt::format("{}: real_atom_types.npy is in some sets of the system only; all "
                              "sets must have mixed types, or none",
                              tree.path_of(folder)));
    mixed = has_types;
    sets.push_back(read_set(tree, folder));
  }
  if (mixed && names.empty())
    throw Error(fmt::format(
        "{}: missing; a system with mixed types needs this file, with the names of its elements",
        names_path));
  const auto has_frames = [](const DataSet &set) { return set.frames > 0; };
  if (std::none_of(sets.begin(), sets.end(), has_frames))
    throw Error(fmt::format("{}: the system has no frame; leave it out", root_path));
}

void DeepmdLayout::read_types(const SystemTree &tree)
{
  const std::vector<std::string> files = tree.list("");
  if (!contains(files, "type.raw"))
    throw Error(fmt::format(
        "{}: missing; a system in DeePMD-kit's format needs this file, with the types of its atoms",
        type_path));
  for (const std::int64_t type : whole_numbers(tree.words("type.raw"), type_path))
    types.push_back(static_cast<int>(type));
  if (types.empty())
    throw Error(fmt::format("{}: names no atom; write the type of each atom, from 0", type_path));
  periodic = !contains(files, "nopbc");
  if (!contains(files, "type_map.raw")) return;
  names = tree.words("type_map.raw");
  if (names.empty())
    throw Error(fmt::format("{}: names no element; write one for each type, or remove the file",
                            names_path));
}

DataSet DeepmdLayout::read_set(const SystemTree &tree, const std::string &folder) const
{
  const std::vector<std::string> files = tree.list(folder);
  DataSet set;
  const std::string frame_parameters = "fparam.npy";
  if (num_fparam > 0 && contains(files, frame_parameters))
    throw Error(fmt::format(
        "{}: frame parameters of a data set are not read, and this model depends on them: remove "
        "the file to use the model's default values, or use DeePMD-kit here",
        tree.path_of(folder + "/" + frame_parameters)));
  for (std::size_t i = 0; i < num_items; ++i) {
    const Item item = static_cast<Item>(i);
    if (item == Item::box && !periodic) continue;
    if (item == Item::drdq && numb_generalized_coord == 0) continue;
    std::string file = items[i].name + std::string(".npy");
    if (!contains(files, file) && items[i].other_name)
      file = items[i].other_name + std::string(".npy");
    const std::string path = folder + "/" + file;
    if (contains(files, file))
      set.arrays[i] = tree.array(path);
    else if (item == Item::coord)
      throw Error(fmt::format("{}: missing; each set needs the coordinates", tree.path_of(path)));
    else if (item == Item::box)
      throw Error(fmt::format("{}: missing; a periodic system needs it, one without a cell needs a "
                              "file 'nopbc' beside type.raw",
                              tree.path_of(path)));
  }
  set.frames = frames_of(*set.get(Item::coord));
  for (std::size_t i = 0; i < num_items; ++i)
    if (set.arrays[i]) check_shape(*set.arrays[i], static_cast<Item>(i), set.frames);
  return set;
}

bool DeepmdLayout::is_atomic(Item item)
{
  return items[static_cast<std::size_t>(item)].atomic;
}

std::int64_t DeepmdLayout::width(Item item) const
{
  const ItemInfo &info = items[static_cast<std::size_t>(item)];
  const std::int64_t numbers = item == Item::drdq ? 3 * numb_generalized_coord : info.width;
  return info.atomic ? numbers * rows() : numbers;
}

void DeepmdLayout::check_shape(const StoredArray &array, Item item, std::int64_t frames) const
{
  const std::int64_t size = array.size(), expected = width(item);
  if (frames == 0 ? size == 0 : size % frames == 0 && size / frames == expected) return;
  const bool atomic = items[static_cast<std::size_t>(item)].atomic;
  throw Error(fmt::format(
      "{}: shape {}, expected ({}, {}): {} frames as in coord of this set, {} numbers each",
      array.path(), array.shape_text(), frames, expected, frames,
      atomic ? fmt::format("{} atoms as in type.raw with {}", rows(), expected / rows())
             : std::to_string(expected)));
}

std::vector<int> DeepmdLayout::real_types(const DataSet &set, std::int64_t row) const
{
  const StoredArray &array = *set.get(Item::real_types);
  std::vector<double> values(static_cast<std::size_t>(rows()));
  array.read_row(row, rows(), values.data());
  std::vector<int> found(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    if (!(value >= -1.0 && value < static_cast<double>(names.size()) && value == std::floor(value)))
      throw Error(fmt::format("{}: frame {}, atom {}: found type {}, expected 0 to {} as in "
                              "type_map.raw, or -1 for no atom",
                              array.path(), row, i, value, names.size() - 1));
    found[i] = static_cast<int>(value);
  }
  return found;
}

}  // namespace dptrain
