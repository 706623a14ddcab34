#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>

#include "base/advice.h"
#include "data/npy.h"
#include "dptrain/base/error.h"
#include "dptrain/data/dataset_writer.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/io/atomic_file.h"
#include "io/file.h"

namespace dptrain {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t frames_per_set = 1000;

/// One array of a set: file name and the row of one frame.
struct Row {
  std::string name;
  std::vector<double> values;
};

/// Atoms ordered by type, in their given order within a type: one type.raw for all frames.
std::vector<std::size_t> order_by_type(const WholeFrame &frame)
{
  std::vector<std::size_t> order(frame.type.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return frame.type[a] < frame.type[b]; });
  return order;
}

/// Values of atoms, [natoms][any width].
std::vector<double> reorder(const std::vector<double> &values,
                            const std::vector<std::size_t> &order)
{
  std::vector<double> sorted;
  sorted.reserve(values.size());
  const std::size_t width = values.size() / order.size();
  for (const auto atom : order)
    sorted.insert(sorted.end(), values.begin() + atom * width, values.begin() + (atom + 1) * width);
  return sorted;
}

void check(const WholeFrame &frame, const std::vector<std::string> &type_map)
{
  const std::size_t natoms = frame.type.size();
  if (natoms == 0) throw internal_error("a frame without atoms was to be added to a data set");
  if (frame.coord.size() != 3 * natoms ||
      (!frame.label.force.empty() && frame.label.force.size() != 3 * natoms) ||
      (!frame.label.force_weight.empty() && frame.label.force_weight.size() != natoms))
    throw internal_error(fmt::format("cannot add a frame of {} atoms with {} coordinates, {} force "
                                     "components and {} force weights to a data set",
                                     natoms, frame.coord.size(), frame.label.force.size(),
                                     frame.label.force_weight.size()));
  for (const int type : frame.type)
    if (type < 0 || type >= static_cast<int>(type_map.size()))
      throw internal_error(fmt::format(
          "cannot add a frame with atom type {} to a data set: type_map has the types 0 to {}",
          type, type_map.size() - 1));
}

/// Folder of the frames that can share arrays with this one: same composition, boundary and labels.
std::string system_name(const WholeFrame &frame, const std::vector<std::string> &type_map)
{
  std::string name;
  for (std::size_t type = 0; type < type_map.size(); ++type) {
    const auto count = std::count(frame.type.begin(), frame.type.end(), static_cast<int>(type));
    if (count > 0) name += type_map[type] + std::to_string(count);
  }
  if (!frame.periodic) name += "_nopbc";
  if (!frame.label.energy) name += "_noenergy";
  if (frame.label.force.empty()) name += "_noforce";
  if (!frame.label.virial) name += "_novirial";
  if (!frame.label.force_weight.empty()) name += "_weighted";
  if (frame.charge) name += "_charge";
  if (frame.label.frame_weight != 1.0) name += "_frame_weight";
  return name;
}

std::vector<Row> rows_of(const WholeFrame &frame, const std::vector<std::size_t> &order)
{
  std::vector<Row> rows{{"box.npy", {frame.box.begin(), frame.box.end()}},
                        {"coord.npy", reorder(frame.coord, order)}};
  const Label &label = frame.label;
  if (label.energy) rows.push_back({"energy.npy", {*label.energy}});
  if (!label.force.empty()) rows.push_back({"force.npy", reorder(label.force, order)});
  if (label.virial) rows.push_back({"virial.npy", {label.virial->begin(), label.virial->end()}});
  if (frame.charge) rows.push_back({"total_charge.npy", {*frame.charge}});
  if (label.frame_weight != 1.0) rows.push_back({"frame_weight.npy", {label.frame_weight}});
  // DeePMD-kit's only weights of forces; its term pf counts them
  if (!label.force_weight.empty())
    rows.push_back({"atom_pref.npy", reorder(label.force_weight, order)});
  return rows;
}

/// Writes a small text file, or checks that the one that is there says the same.
void write_or_compare(const std::string &path, const std::string &text)
{
  if (!fs::exists(path)) {
    write_atomically(path, [&](const std::string &name) { write_file(name, text); });
    return;
  }
  const std::string found = read_file(path);
  const auto words = [](const std::string &content) {
    std::vector<std::string> list(1);
    for (const char c : content)
      if (std::isspace(static_cast<unsigned char>(c)))
        list.emplace_back();
      else
        list.back() += c;
    list.erase(std::remove(list.begin(), list.end(), std::string()), list.end());
    return list;
  };
  if (words(found) != words(text))
    throw Error(fmt::format("{}: the data set in this folder has other atoms or types than the "
                            "frame to be added; choose another data set folder",
                            path));
}

void write_types(const std::string &system, const std::vector<std::string> &type_map,
                 const WholeFrame &frame, const std::vector<std::size_t> &order)
{
  std::string types, names;
  for (const auto atom : order) types += fmt::format("{}\n", frame.type[atom]);
  for (const auto &name : type_map) names += name + "\n";
  write_or_compare(system + "/type_map.raw", names);
  write_or_compare(system + "/type.raw", types);
  if (!frame.periodic) write_or_compare(system + "/nopbc", "");
}

/// Number of the last set.NNN, or -1.
long last_set(const std::string &system)
{
  long last = -1;
  for (const auto &name : list_folder(system)) {
    char *end = nullptr;
    if (name.compare(0, 4, "set.") != 0 || name.size() == 4) continue;
    const long number = std::strtol(name.c_str() + 4, &end, 10);
    if (*end == '\0') last = std::max(last, number);
  }
  return last;
}

std::string set_name(long number)
{
  char name[32];
  std::snprintf(name, sizeof name, "set.%03ld", number);
  return name;
}

/// Frames in a set that all arrays have; -1 if the set cannot be continued.
std::int64_t frames_in_set(const std::string &set, const std::vector<Row> &rows)
{
  std::int64_t frames = frames_per_set;
  for (const auto &row : rows)
    frames = std::min(frames,
                      npy_rows(set + "/" + row.name, static_cast<std::int64_t>(row.values.size())));
  return frames;
}

/// The set appears with all its arrays at once.
void start_set(const std::string &system, const std::string &name, const std::vector<Row> &rows)
{
  const std::string temporary = system + "/." + name + ".tmp";
  make_folder(temporary);
  for (const auto &row : rows) {
    const auto width = static_cast<std::int64_t>(row.values.size());
    const std::vector<std::int64_t> shape =
        width == 1 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{1, width};
    const std::string bytes = npy_bytes(shape, row.values);
    write_atomically(temporary + "/" + row.name,
                     [&](const std::string &file) { write_file(file, bytes); });
  }
  std::error_code code;
  fs::rename(temporary, system + "/" + name, code);
  if (code)
    throw Error(fmt::format("cannot create the folder '{}/{}': {}; check space and permissions, or "
                            "choose another place",
                            system, name, code.message()));
  sync_folder_of(system + "/" + name);
}

}  // namespace

void append_to_dataset(const std::string &dir, const std::vector<std::string> &type_map,
                       const WholeFrame &frame)
{
  check(frame, type_map);
  const std::string system = dir + "/" + system_name(frame, type_map);
  make_folder(system);
  const auto order = order_by_type(frame);
  write_types(system, type_map, frame, order);
  const auto rows = rows_of(frame, order);
  const long last = last_set(system);
  const std::string set = system + "/" + set_name(last);
  const std::int64_t frames = last < 0 ? -1 : frames_in_set(set, rows);
  if (frames < 0 || frames >= frames_per_set) {
    start_set(system, set_name(last + 1), rows);
    return;
  }
  for (const auto &row : rows) append_npy_row(set + "/" + row.name, frames, row.values);
}

}  // namespace dptrain
