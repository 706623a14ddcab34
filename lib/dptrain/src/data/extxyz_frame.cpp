// One frame of an extended XYZ file.

#include <cctype>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

#include "base/text_words.h"
#include "data/extxyz_file.h"
#include "data/extxyz_header.h"
#include "data/frame_values.h"
#include "data/open_directions.h"
#include "dptrain/base/elements.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

using Types = std::map<std::string, int, std::less<>>;

class FrameParser {
 public:
  FrameParser(std::string_view text, std::int64_t line, const std::string &path,
              const Types &types) :
      text_(text), line_(line), path_(path), types_(types)
  {
  }

  WholeFrame parse()
  {
    const std::string_view first = take_line(text_);
    const std::int64_t natoms = parse_atom_count(first);
    // each atom has a line: what the text could hold bounds the memory
    if (natoms <= 0 || natoms > static_cast<std::int64_t>(text_.size()))
      throw Error(fmt::format(
          "{}: found '{}', expected the number of atoms of a frame; was the file changed?", here(),
          shown(std::string(first))));
    ++line_;
    header_ = parse_extxyz_header(take_line(text_), here());
    words_.resize(static_cast<std::size_t>(header_.columns.count) + 1);
    for (std::int64_t i = 0; i < natoms; ++i) parse_atom();
    finish(fmt::format("{}: line {}", path_, line_ - natoms));
    return std::move(frame_);
  }

 private:
  std::string here() const { return fmt::format("{}: line {}", path_, line_); }

  void parse_atom()
  {
    ++line_;
    std::string_view line = take_line(text_);
    const ExtxyzColumns &columns = header_.columns;
    std::size_t found = 0;
    while (found < words_.size() && !(words_[found] = take_word(line)).empty()) ++found;
    const auto expected = static_cast<std::size_t>(columns.count);
    if (found < expected || (columns.exact && found > expected))
      throw Error(fmt::format(
          "{}: {}{} columns, expected {}{}; the number of atoms of the frame may be wrong", here(),
          found > expected ? "more than " : "", std::min(found, expected), expected,
          columns.exact ? " as in Properties" : ": name x y z"));
    add_type();
    Label &label = frame_.label;
    read(columns.position, 3, frame_.coord);
    read(columns.force, 3, label.force);
    read(columns.force_weight, 1, label.force_weight);
    read(columns.atom_energy, 1, label.atom_energy);
    read(columns.atom_pref, 1, label.atom_pref);
    read(columns.atom_ener_coeff, 1, label.atom_ener_coeff);
  }

  void add_type()
  {
    const bool by_number = header_.columns.species < 0;
    const int column = by_number ? header_.columns.number : header_.columns.species;
    const std::string_view word = words_[static_cast<std::size_t>(column)];
    auto type = by_number ? types_.end() : types_.find(word);
    if (type == types_.end()) type = types_.find(element_name(word, by_number));
    if (type == types_.end())
      throw Error(fmt::format("{}: found '{}', which is no element of the model; remove the frame, "
                              "or use a model with this element",
                              here(), shown(std::string(word))));
    frame_.type.push_back(type->second);
  }

  void read(int column, int width, std::vector<double> &values)
  {
    for (int k = 0; column >= 0 && k < width; ++k) {
      const std::string_view word = words_[static_cast<std::size_t>(column + k)];
      double value = 0.0;
      if (!parse_number(word, value))
        throw Error(
            fmt::format("{}: found '{}', expected a number", here(), shown(std::string(word))));
      if (!std::isfinite(value))
        throw Error(fmt::format(
            "{}: {} is not a finite number; remove the frame or repair the file", here(), word));
      values.push_back(value);
    }
  }

  void finish(const std::string &where)
  {
    const auto &periodic = header_.periodic;
    const int directions = periodic[0] + periodic[1] + periodic[2];
    frame_.periodic = directions > 0;
    frame_.label.energy = header_.energy;
    frame_.label.virial = header_.virial;
    frame_.charge = header_.charge;
    frame_.label.frame_weight = header_.weight;
    if (!frame_.periodic) return;
    frame_.box = *header_.lattice;
    if (directions < 3) frame_.box = add_vacuum(frame_.box, periodic, frame_.coord);
    expect_volume(frame_.box, where);
  }

  std::string_view text_;
  std::int64_t line_;
  const std::string &path_;
  const Types &types_;
  ExtxyzHeader header_;
  std::vector<std::string_view> words_;
  WholeFrame frame_;
};

}  // namespace

std::int64_t parse_atom_count(std::string_view line)
{
  const std::string_view word = take_word(line);
  std::int64_t count = 0;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), count);
  const bool good = result.ec == std::errc() && result.ptr == word.data() + word.size() &&
                    count >= 0 && take_word(line).empty();
  return good ? count : -1;
}

std::string_view take_line(std::string_view &text)
{
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view &line)
{
  std::size_t start = 0;
  while (start < line.size() && blank(line[start])) ++start;
  std::size_t end = start;
  while (end < line.size() && !blank(line[end])) ++end;
  const std::string_view word = line.substr(start, end - start);
  line.remove_prefix(end);
  return word;
}

std::string element_name(std::string_view word, bool is_number)
{
  if (is_number) {
    int number = 0;
    const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
    return result.ec == std::errc() && result.ptr == word.data() + word.size()
               ? element_symbol(number)
               : "";
  }
  // as ASE does: Fe, fe and FE are the same
  std::string name(word);
  if (name.empty() || name.size() > 32 || !std::isalpha(static_cast<unsigned char>(name[0])))
    return "";
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    name[i] = static_cast<char>(i == 0 ? std::toupper(c) : std::tolower(c));
    if (c < ' ' || c > '~') return "";
  }
  return name;
}

WholeFrame parse_extxyz_frame(std::string_view text, std::int64_t line, const std::string &path,
                              const Types &types)
{
  return FrameParser(text, line, path, types).parse();
}

}  // namespace dptrain
