#include "data/extxyz_header.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/nearest_name.h"
#include "base/text.h"
#include "base/text_words.h"
#include "data/frame_values.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr int max_columns = 1000000;

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Place of `name` in the order of preference `names`; a prefix REF_ or DFT_ in any case marks reference values, which
/// come first. Lower is better, -1: not one of the names.
int preference(const std::string &name, const std::vector<std::string> &names)
{
  std::string text = lower(name);
  const bool marked = text.compare(0, 4, "ref_") == 0 || text.compare(0, 4, "dft_") == 0;
  const auto found = std::find(names.begin(), names.end(), marked ? text.substr(4) : text);
  if (found == names.end()) return -1;
  return static_cast<int>(found - names.begin()) + (marked ? 0 : static_cast<int>(names.size()));
}

/// The preferred key of those that are there, or null.
const std::pair<std::string, std::string> *best(const Pairs &pairs,
                                                const std::vector<std::string> &names)
{
  const std::pair<std::string, std::string> *chosen = nullptr;
  int rank = -1;
  for (const auto &pair : pairs) {
    const int here = preference(pair.first, names);
    if (here < 0 || (chosen && here >= rank)) continue;
    chosen = &pair;
    rank = here;
  }
  return chosen;
}

/// The pair with this key (lower case), written in any case, or null. Twice: Error, since two programs would take
/// different ones of them.
const std::pair<std::string, std::string> *find_key(const Pairs &pairs, const std::string &key,
                                                    const std::string &where)
{
  const std::pair<std::string, std::string> *found = nullptr;
  for (const auto &pair : pairs) {
    if (lower(pair.first) != key) continue;
    if (found)
      throw Error(fmt::format(
          "{}: the key {} is given twice{}: leave one of them out", where, shown(found->first),
          found->first == pair.first ? "" : fmt::format(" (also as {})", shown(pair.first))));
    found = &pair;
  }
  return found;
}

/// Keys that are read, in lower case, without the prefixes of reference values.
const std::vector<std::string> known_keys{
    "lattice", "properties", "pbc",    "energy",       "free_energy", "virial",
    "virials", "stress",     "charge", "total_charge", "weight",      "energy_weight"};

/// Words of an array: blanks, commas and brackets separate.
std::vector<std::string> items_of(std::string text)
{
  if (text.compare(0, 6, "_JSON ") == 0) text.erase(0, 6);
  for (char &c : text)
    if (c == ',' || c == '[' || c == ']' || c == '{' || c == '}') c = ' ';
  return words_of(text);
}

/// Names of labels, the preferred one first: forces are the derivative of the free energy.
const std::vector<std::string> energy_names{"free_energy", "energy"},
    virial_names{"virial", "virials"}, stress_names{"stress"};

/// A frame without a cell must be one on purpose, and columns are named once: keys that are given twice, and others than
/// Lattice and Properties which hold what these should hold, are errors.
void check_keys(const Pairs &pairs, const std::string &where)
{
  for (const auto &key : known_keys)
    for (const char *mark : {"", "ref_", "dft_"}) find_key(pairs, mark + key, where);
  const bool has_cell = find_key(pairs, "lattice", where),
             has_columns = find_key(pairs, "properties", where);
  for (const auto &[key, value] : pairs) {
    const std::string name = lower(key);
    if (std::find(known_keys.begin(), known_keys.end(), name) != known_keys.end()) continue;
    std::string plain = name;
    plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
    const std::string of_a_cell[] = {"cell",   "box",      "unitcell", "supercell",
                                     "simbox", "cellvecs", "latt",     "latticevectors"};
    const bool is_cell =
        edit_distance(plain, "lattice") <= 2 ||
        std::find(std::begin(of_a_cell), std::end(of_a_cell), plain) != std::end(of_a_cell);
    double number = 0.0;
    const auto items = items_of(value);
    const bool numbers = !items.empty() && parse_number(items[0], number);
    if (!has_cell && is_cell && numbers)
      throw Error(
          fmt::format("{}: the frame has no Lattice, but the key {}, which is not read: name it "
                      "Lattice (the vectors a, b and c), or rename it if it is no cell",
                      where, shown(key)));
    std::string types = lower(value);
    if (!has_columns &&
        (types.find(":s:1") != std::string::npos || types.find(":r:3") != std::string::npos))
      throw Error(fmt::format("{}: the frame has no Properties, but the key {} with columns, which "
                              "is not read: name it Properties",
                              where, shown(key)));
  }
}

std::vector<double> numbers_of(const std::pair<std::string, std::string> &pair,
                               const std::string &where)
{
  std::vector<double> numbers;
  for (const auto &item : items_of(pair.second)) {
    double value = 0.0;
    if (!parse_number(item, value))
      throw Error(fmt::format("{}: {}: found '{}', expected a number", where, shown(pair.first),
                              shown(item)));
    if (!std::isfinite(value))
      throw Error(
          fmt::format("{}: {} is {}, not a finite number; remove the frame or repair the file",
                      where, shown(pair.first), shown(item)));
    numbers.push_back(value);
  }
  return numbers;
}

/// 3x3 matrix from 9 numbers, which stand column by column as ASE writes them, or six in Voigt's order xx yy zz yz xz xy.
std::array<double, 9> matrix_of(const std::pair<std::string, std::string> &pair,
                                const std::string &where)
{
  const std::vector<double> v = numbers_of(pair, where);
  if (v.size() == 6) return {v[0], v[5], v[4], v[5], v[1], v[3], v[4], v[3], v[2]};
  if (v.size() != 9)
    throw Error(fmt::format("{}: {} has {} numbers, expected 9 or 6 (xx yy zz yz xz xy)", where,
                            shown(pair.first), v.size()));
  const bool by_row = pair.second.find('[') != std::string::npos;  // an array of arrays
  if (by_row) return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]};
  return {v[0], v[3], v[6], v[1], v[4], v[7], v[2], v[5], v[8]};
}

bool parse_flag(const std::string &text, const std::string &where)
{
  const std::string word = lower(text);
  if (word == "t" || word == "true" || word == "1") return true;
  if (word == "f" || word == "false" || word == "0") return false;
  throw Error(fmt::format("{}: pbc: found '{}', expected three of T and F", where, shown(text)));
}

void read_cell(const Pairs &pairs, const std::string &where, ExtxyzHeader &header)
{
  if (const auto *lattice = find_key(pairs, "lattice", where)) {
    const auto numbers = numbers_of(*lattice, where);
    if (numbers.size() != 9)
      throw Error(fmt::format("{}: Lattice has {} numbers, expected 9: the vectors a, b and c",
                              where, numbers.size()));
    std::copy_n(numbers.begin(), 9, header.lattice.emplace().begin());
    header.periodic.fill(true);
  }
  const auto *pbc = find_key(pairs, "pbc", where);
  if (!pbc) return;
  const auto flags = items_of(pbc->second);
  if (flags.size() != 3 && flags.size() != 1)
    throw Error(
        fmt::format("{}: pbc: found '{}', expected three of T and F", where, shown(pbc->second)));
  for (std::size_t d = 0; d < 3; ++d)
    header.periodic[d] = parse_flag(flags[flags.size() == 3 ? d : 0], where);
  const auto yes = [](bool flag) { return flag; };
  if (!header.lattice && std::any_of(header.periodic.begin(), header.periodic.end(), yes))
    throw Error(fmt::format("{}: pbc says that the frame is periodic, but there is no Lattice; add "
                            "it, or write pbc=\"F F F\"",
                            where));
}

void read_virial(const Pairs &pairs, const std::string &where, ExtxyzHeader &header)
{
  const auto *virial = best(pairs, virial_names);
  const auto *stress = best(pairs, stress_names);
  // a stress that is marked as reference value is better than a virial that is not
  const bool marked = stress && lower(stress->first) != "stress";
  if (virial && (!marked || preference(virial->first, virial_names) < 2)) {
    header.virial = matrix_of(*virial, where);
    return;
  }
  if (!stress) return;
  const double volume = header.lattice ? std::abs(volume_of(*header.lattice)) : 0.0;
  if (!(volume > 0.0))
    throw Error(
        fmt::format("{}: {} needs a cell with a volume; give a Lattice, or the virial instead",
                    where, stress->first));
  auto &matrix = header.virial.emplace(matrix_of(*stress, where));
  for (double &value : matrix) value *= -volume;
}

/// One entry NAME:TYPE:COUNT of Properties.
void add_property(const std::string &given, char type, int width, std::array<int, 5> &ranks,
                  ExtxyzColumns &columns, const std::string &where)
{
  const std::string name = lower(given);
  const auto expect = [&](const char *types, int expected) {
    if (std::string(types).find(type) == std::string::npos || width != expected)
      throw Error(fmt::format("{}: Properties: {}:{}:{}, expected {}:{}:{}", where, shown(given),
                              type, width, given, types[0], expected));
  };
  if (name == "species" || name == "symbols") {
    expect("S", 1);
    columns.species = columns.count;
  } else if (name == "z" || name == "numbers") {
    expect("I", 1);
    columns.number = columns.count;
  } else if (name == "pos" || name == "positions") {
    expect("RI", 3);
    columns.position = columns.count;
  }
  const std::pair<std::vector<std::string>, int *> labels[] = {
      {{"forces", "force"}, &columns.force},
      {{"force_weight"}, &columns.force_weight},
      {{"energies", "atom_ener", "atomic_ener"}, &columns.atom_energy},
      {{"atom_pref"}, &columns.atom_pref},
      {{"atom_ener_coeff"}, &columns.atom_ener_coeff}};
  int index = 0;
  for (const auto &[names, column] : labels) {
    const int rank = preference(name, names);
    int &present = ranks[index++];
    if (rank < 0 || (present >= 0 && rank >= present)) continue;
    expect("RI", column == &columns.force ? 3 : 1);
    present = rank;
    *column = columns.count;
  }
  columns.count += width;
}

ExtxyzColumns columns_of(const Pairs &pairs, const std::string &where)
{
  ExtxyzColumns columns;
  const auto *properties = find_key(pairs, "properties", where);
  if (!properties) return columns;
  const std::string *text = &properties->second;
  std::vector<std::string> fields(1);
  for (const char c : *text)
    if (c == ':')
      fields.emplace_back();
    else
      fields.back() += c;
  if (fields.size() % 3 != 0)
    throw Error(
        fmt::format("{}: Properties={}, expected NAME:TYPE:COLUMNS:...", where, shown(*text)));
  columns = {-1, -1, -1, -1, -1, -1, -1, -1, 0, true};
  std::array<int, 5> ranks;
  ranks.fill(-1);
  for (std::size_t i = 0; i < fields.size(); i += 3) {
    double width = 0.0;
    const bool known = fields[i + 1].size() == 1 &&
                       std::string("RISLrisl").find(fields[i + 1]) != std::string::npos;
    if (!known || !parse_number(fields[i + 2], width) || !(width >= 1.0 && width <= 1e4) ||
        width != std::floor(width))
      throw Error(fmt::format(
          "{}: Properties: {}:{}:{}, expected a type of R, I, S, L and a number of columns", where,
          shown(fields[i]), shown(fields[i + 1]), shown(fields[i + 2])));
    for (std::size_t k = 0; k < i; k += 3)
      if (lower(fields[k]) == lower(fields[i]))
        throw Error(fmt::format(
            "{}: Properties names the columns {} twice{}: leave one of them out, or rename it",
            where, shown(fields[k]),
            fields[k] == fields[i] ? "" : fmt::format(" (also as {})", shown(fields[i]))));
    const char type = static_cast<char>(std::toupper(static_cast<unsigned char>(fields[i + 1][0])));
    add_property(fields[i], type, static_cast<int>(width), ranks, columns, where);
    if (columns.count > max_columns)
      throw Error(fmt::format("{}: Properties has more than {} columns; leave out what is no label",
                              where, max_columns));
  }
  if (columns.position < 0 || (columns.species < 0 && columns.number < 0))
    throw Error(fmt::format("{}: Properties={} lacks species (or Z) or pos; add what is missing",
                            where, shown(*text)));
  return columns;
}

// None where there is no such key.
std::optional<double> number_of(const std::pair<std::string, std::string> *pair,
                                const std::string &where)
{
  if (!pair) return std::nullopt;
  const auto numbers = numbers_of(*pair, where);
  if (numbers.size() != 1)
    throw Error(fmt::format("{}: {}={}, expected one number", where, shown(pair->first),
                            shown(pair->second)));
  return numbers.front();
}

// GPUMD stops at frames without an energy: a weight of 0 says that there is none.
bool has_energy(const Pairs &pairs, const std::string &where)
{
  const double weight = number_of(best(pairs, {"energy_weight"}), where).value_or(1.0);
  if (weight != 0.0 && weight != 1.0)
    throw Error(fmt::format("{}: energy_weight={}: expected 1, or 0 where the energy is no label; "
                            "a weight of the whole frame is weight",
                            where, weight));
  return weight == 1.0 && best(pairs, energy_names);
}

// Of all atoms. What other programs call charge may be anything else.
std::optional<double> charge_of(const Pairs &pairs, const std::string &where)
{
  const auto *charge = best(pairs, {"total_charge", "charge"});
  if (!charge || lower(charge->first).ends_with("total_charge")) return number_of(charge, where);
  double number = 0.0;
  const bool is_one = parse_number(charge->second, number) && std::isfinite(number);
  return is_one ? std::optional(number) : std::nullopt;
}

// Of the frame in a training, as GPUMD has it.
double weight_of(const Pairs &pairs, const std::string &where)
{
  const double weight = number_of(best(pairs, {"weight"}), where).value_or(1.0);
  if (weight < 0.0)
    throw Error(fmt::format("{}: weight={}: how much a frame counts is a number of at least 0",
                            where, weight));
  return weight;
}

}  // namespace

ExtxyzOutline outline_of_extxyz(std::string_view line, const std::string &where)
{
  const Pairs pairs = split_comment(line);
  check_keys(pairs, where);
  ExtxyzOutline outline;
  outline.columns = columns_of(pairs, where);
  LabelKinds &labels = outline.labels;
  labels = {has_energy(pairs, where),
            outline.columns.force >= 0,
            best(pairs, virial_names) || best(pairs, stress_names),
            outline.columns.atom_energy >= 0,
            outline.columns.atom_pref >= 0,
            outline.columns.atom_ener_coeff >= 0};
  const auto note = [](std::string &unread, const std::string &name,
                       const std::vector<std::string> &parts) {
    const std::string text = lower(name);
    const auto in_text = [&](const std::string &part) {
      return text.find(part) != std::string::npos;
    };
    if (unread.empty() && std::any_of(parts.begin(), parts.end(), in_text)) unread = name;
  };
  for (const auto &[key, value] : pairs) {
    double number = 0.0;
    const auto items = items_of(value);
    if (items.empty() || !parse_number(items[0], number)) continue;
    if (!labels.energy && items.size() == 1 && !best(pairs, {"energy_weight"}))
      note(outline.unread.energy, key, {"ener", "etot", "toten", "e_tot", "e0"});
    if (!labels.virial && (items.size() == 9 || items.size() == 6))
      note(outline.unread.virial, key, {"virial", "stress", "press"});
  }
  const auto *properties = find_key(pairs, "properties", where);
  if (labels.force || !properties) return outline;
  std::string text = properties->second;
  std::replace(text.begin(), text.end(), ' ', '_');
  std::replace(text.begin(), text.end(), ':', ' ');
  const std::vector<std::string> fields = words_of(text);
  for (std::size_t k = 0; k + 2 < fields.size(); k += 3)
    if (fields[k + 2] == "3") note(outline.unread.force, fields[k], {"forc", "frc", "grad"});
  return outline;
}

ExtxyzHeader parse_extxyz_header(std::string_view line, const std::string &where)
{
  const Pairs pairs = split_comment(line);
  check_keys(pairs, where);
  ExtxyzHeader header;
  read_cell(pairs, where, header);
  if (has_energy(pairs, where)) header.energy = number_of(best(pairs, energy_names), where);
  header.charge = charge_of(pairs, where);
  header.weight = weight_of(pairs, where);
  read_virial(pairs, where, header);
  header.columns = columns_of(pairs, where);
  return header;
}

}  // namespace dptrain
