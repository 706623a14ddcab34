#include "potential/terms/pair_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <sstream>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "input/model_keys.h"
#include "io/file.h"
#include "kernels/pair_functions.h"

namespace dptrain {

namespace {

constexpr int most_rows = 100000;
constexpr double same_distance = 1e-3;  // Angstrom, or of the distance where that is longer

/// The lines of a file, each as its words; without comments, and empty ones left out.
class Lines {
 public:
  explicit Lines(const std::string &file) : file_(file)
  {
    std::istringstream text(read_file(file));
    std::string line;
    for (int number = 1; std::getline(text, line); ++number) {
      const auto comment = line.find('#');
      if (comment != std::string::npos) look_for_units(line.substr(comment));
      std::istringstream words(line.substr(0, comment));
      Line found{number, {}};
      for (std::string word; words >> word;) found.words.push_back(word);
      if (!found.words.empty()) lines_.push_back(found);
    }
  }
  bool at_end() const { return next_ == lines_.size(); }
  const std::vector<std::string> &take()
  {
    if (at_end())
      throw Error(fmt::format("{}: ends in the middle of a table: write the file again, or correct "
                              "N, its number of rows",
                              file_));
    return lines_[next_++].words;
  }
  /// Of the latest line.
  [[noreturn]] void fail(const std::string &message) const
  {
    throw Error(fmt::format("{}:{}: {}", file_, lines_[next_ - 1].number, message));
  }
  double number(const std::string &word) const
  {
    double value = 0.0;
    if (!is_number(word, value)) fail(fmt::format("expected a number, found {}", word));
    return value;
  }

 private:
  struct Line {
    int number;
    std::vector<std::string> words;
  };
  void look_for_units(const std::string &comment) const
  {
    const auto place = comment.find("UNITS:");
    if (place == std::string::npos) return;
    std::string units;
    std::istringstream(comment.substr(place + 6)) >> units;
    if (units != "metal")
      throw Error(fmt::format("{}: its units are {}, and a table of a potential is in units metal "
                              "(eV, Angstrom): convert it",
                              file_, units));
  }

  std::string file_;
  std::vector<Line> lines_;
  std::size_t next_ = 0;
};

/// What the line below a keyword says: N 500 R 0.5 6.0
struct Header {
  std::size_t rows = 0;
  std::string spacing;  ///< R, RSQ; empty: distances are those of the rows
  double low = 0.0, high = 0.0;
};

Header read_header(Lines &lines)
{
  const auto &words = lines.take();
  Header header;
  for (std::size_t k = 0; k < words.size();) {
    const std::string &name = words[k];
    const std::size_t numbers = name == "N" ? 1 : 2;
    if (name != "N" && name != "R" && name != "RSQ" && name != "FPRIME")
      lines.fail(
          fmt::format("found {}; allowed are N, R, RSQ and FPRIME with their numbers", name));
    if (k + numbers >= words.size()) lines.fail(fmt::format("{} needs {} numbers", name, numbers));
    const double first = lines.number(words[k + 1]);
    if (name == "N") {
      if (!(first >= 4.0 && first <= most_rows && first == std::floor(first)))
        lines.fail(fmt::format("N is the number of rows, from 4 to {}; found {}", most_rows,
                               words[k + 1]));
      header.rows = static_cast<std::size_t>(first);
    } else if (name != "FPRIME") {
      header.spacing = name;
      header.low = first;
      header.high = lines.number(words[k + 2]);
    }
    k += numbers + 1;
  }
  if (header.rows == 0) lines.fail("expected N and the number of rows, such as N 500 R 0.5 6.0");
  return header;
}

/// Distance of a row, as LAMMPS has it.
double distance_of(const Header &header, std::size_t row, double written)
{
  const double part = static_cast<double>(row) / static_cast<double>(header.rows - 1);
  const auto between = [&](double low, double high) { return low + part * (high - low); };
  if (header.spacing == "R") return between(header.low, header.high);
  if (header.spacing == "RSQ")
    return std::sqrt(between(header.low * header.low, header.high * header.high));
  return written;
}

PairTable read_rows(Lines &lines)
{
  const Header header = read_header(lines);
  PairTable table;
  for (std::size_t row = 0; row < header.rows; ++row) {
    const auto &words = lines.take();
    if (words.size() != 4)
      lines.fail(fmt::format("expected a row of number, distance, energy and force, found {} words",
                             words.size()));
    const double written = lines.number(words[1]), distance = distance_of(header, row, written);
    if (std::abs(distance - written) > same_distance * std::max(1.0, distance))
      lines.fail(
          fmt::format("the distance {} is {:.6g} by {} in the header: correct one of the two",
                      words[1], distance, header.spacing));
    table.distance.push_back(distance);
    table.energy.push_back(lines.number(words[2]));
    table.force.push_back(lines.number(words[3]));
  }
  return table;
}

}  // namespace

PairTable read_pair_table(const std::string &file, const std::string &keyword)
{
  Lines lines(file);
  std::map<std::string, PairTable> tables;
  std::vector<std::string> names;
  while (!lines.at_end()) {
    const std::string name = lines.take().front();
    double number = 0.0;
    if (is_number(name, number))
      lines.fail("expected the name of a table: there are more rows than N says; correct N");
    if (tables.count(name))
      lines.fail(fmt::format("there is a second table {}: remove one of them", name));
    tables[name] = read_rows(lines);
    names.push_back(name);
  }
  if (names.empty())
    throw Error(fmt::format("{}: has no table: give a file of LAMMPS' pair_style table", file));
  if (keyword.empty() && names.size() > 1)
    throw Error(
        fmt::format("{}: has the tables {}: give one of them as keyword", file, joined(names)));
  const auto found = tables.find(keyword.empty() ? names.front() : keyword);
  if (found == tables.end())
    throw Error(fmt::format("{}: has no table {}: use one of {}", file, keyword, joined(names)));
  return found->second;
}

void check_pair_table(const PairTable &table, const std::string &what)
{
  constexpr double at_the_end = 1e-3;    // eV, eV/Angstrom
  constexpr double inconsistency = 0.2;  // of all that the energy changes
  const auto &r = table.distance, &e = table.energy, &f = table.force;
  if (r.size() < 4 || r.size() > most_rows || e.size() != r.size() || f.size() != r.size())
    throw Error(fmt::format("{}: needs as many energies and forces as distances, 4 to {}; found {} "
                            "distances, {} energies and {} forces",
                            what, most_rows, r.size(), e.size(), f.size()));
  if (!(r.front() > 0.0)) throw Error(fmt::format("{}: distances must be above 0", what));
  double changes = 0.0, differences = 0.0;
  for (std::size_t k = 1; k < r.size(); ++k) {
    if (!(r[k] > r[k - 1]))
      throw Error(fmt::format("{}: distances must ascend, and {:g} comes after {:g}", what, r[k],
                              r[k - 1]));
    const double change = e[k] - e[k - 1], width = r[k] - r[k - 1];
    changes += std::abs(change);
    differences += std::abs(change + width * (f[k] + f[k - 1]) / 2.0);
  }
  if (differences > inconsistency * changes)
    throw Error(
        fmt::format("{}: forces are not minus the slope of the energies: they differ by {:.3g} eV "
                    "where the energy changes by {:.3g}; correct them",
                    what, differences, changes));
  if (std::abs(e.back()) > at_the_end || std::abs(f.back()) > at_the_end)
    throw Error(
        fmt::format("{}: ends at {:g} Angstrom with an energy of {:g} eV and a force of {:g} "
                    "eV/Angstrom, so that energy would not be conserved: continue it until "
                    "both are 0 (within {:g})",
                    what, r.back(), e.back(), f.back(), at_the_end));
}

PairTable on_equal_steps(const PairTable &table)
{
  const auto &r = table.distance;
  const double range = r.back() - r.front();
  double smallest = range;
  for (std::size_t k = 1; k < r.size(); ++k) smallest = std::min(smallest, r[k] - r[k - 1]);
  if (smallest > (1.0 - 1e-6) * range / static_cast<double>(r.size() - 1)) return table;
  const auto steps = static_cast<int>(std::min<double>(most_rows, std::ceil(range / smallest)));
  PairTable found;
  std::size_t k = 0;
  for (int n = 0; n <= steps; ++n) {
    const double x = std::min(r.back(), r.front() + n * range / steps);
    while (k + 2 < r.size() && x > r[k + 1]) ++k;
    const double left[] = {table.energy[k], -table.force[k]},
                 right[] = {table.energy[k + 1], -table.force[k + 1]}, step = r[k + 1] - r[k];
    const auto [energy, slope] = kernels::between_knots(left, right, step, (x - r[k]) / step);
    found.distance.push_back(x);
    found.energy.push_back(energy);
    found.force.push_back(-slope);
  }
  return found;
}

}  // namespace dptrain
