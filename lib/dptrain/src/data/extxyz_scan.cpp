// First pass over an extended XYZ file: offsets of the frames and names of the atoms.

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

#include "base/text_words.h"
#include "data/extxyz_file.h"
#include "data/extxyz_header.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr std::size_t first_block = 1 << 12, largest_block = 1 << 20;
constexpr std::size_t max_line = 1 << 24;

/// The lines of a file one by one; holds a block of it in memory.
class Lines {
 public:
  Lines(const ReadAt &read, const std::string &path) : read_(read), path_(path) {}

  /// False at the end. `line` is valid until the next call.
  bool next(std::string_view &line)
  {
    for (std::size_t searched = 0;;) {
      const char *start = buffer_.data() + position_;
      const std::size_t length = buffer_.size() - position_;
      const void *end =
          length > searched ? std::memchr(start + searched, '\n', length - searched) : nullptr;
      if (end || (at_end_ && length > 0)) {
        const std::size_t size =
            end ? static_cast<std::size_t>(static_cast<const char *>(end) - start) : length;
        line = std::string_view(start, size);
        offset_ = base_ + static_cast<std::int64_t>(position_);
        position_ += size + (end ? 1 : 0);
        ++number_;
        return true;
      }
      if (at_end_) return false;
      searched = length;
      fill();
    }
  }
  std::int64_t number() const { return number_; }  ///< of the last line, from 1
  std::int64_t offset() const { return offset_; }  ///< where it begins
  std::int64_t position() const { return base_ + static_cast<std::int64_t>(position_); }

 private:
  void fill()
  {
    buffer_.erase(0, position_);
    base_ += static_cast<std::int64_t>(position_);
    position_ = 0;
    const std::size_t kept = buffer_.size();
    if (kept > max_line)
      throw Error(
          fmt::format("{}: line {} is longer than {} characters; an extended XYZ file is expected",
                      path_, number_ + 1, max_line));
    buffer_.resize(kept + block_);
    const std::size_t got =
        read_(buffer_.data() + kept, block_, base_ + static_cast<std::int64_t>(kept));
    buffer_.resize(kept + got);
    at_end_ = got < block_;
    block_ = std::min(4 * block_, largest_block);
  }

  const ReadAt &read_;
  const std::string &path_;
  std::string buffer_;
  std::int64_t base_ = 0, offset_ = 0, number_ = 0;  // base_: offset of the buffer in the file
  std::size_t position_ = 0, block_ = first_block;
  bool at_end_ = false;
};

/// Encoding of a text that is not plain ASCII or UTF-8, by its first bytes; empty for all others.
std::string wrong_encoding(std::string_view first)
{
  const auto begins = [&](std::string_view mark) { return first.substr(0, mark.size()) == mark; };
  if (begins("\xEF\xBB\xBF")) return "a byte order mark (UTF-8)";
  if (begins(std::string_view("\xFF\xFE\0\0", 4)) || begins(std::string_view("\0\0\xFE\xFF", 4)))
    return "a byte order mark (UTF-32)";
  if (begins("\xFF\xFE") || begins("\xFE\xFF")) return "a byte order mark (UTF-16)";
  return "";
}

class Scanner {
 public:
  Scanner(const ReadAt &read, const std::string &path) : path_(path), lines_(read, path) {}

  ExtxyzIndex scan()
  {
    std::string_view line;
    while (lines_.next(line)) {
      const std::string encoding = lines_.number() == 1 ? wrong_encoding(line) : "";
      if (!encoding.empty())
        throw Error(
            fmt::format("{}: line 1: the file begins with {}, expected the number of atoms of a "
                        "frame: save the file as plain text (UTF-8 without byte order mark)",
                        path_, encoding));
      if (std::string_view rest = line; !take_word(rest).empty()) scan_frame(line);
    }
    if (index_.frames.empty())
      throw Error(fmt::format("{}: the file has no frame; leave it out", path_));
    return std::move(index_);
  }

 private:
  std::string where(std::int64_t line) const { return fmt::format("{}: line {}", path_, line); }

  void scan_frame(std::string_view first)
  {
    ExtxyzIndex::Entry entry{lines_.offset(), lines_.number(), parse_atom_count(first), {}};
    if (entry.natoms < 0)
      throw Error(fmt::format("{}: found '{}', expected the number of atoms of a frame{}",
                              where(entry.line), shown(std::string(first)),
                              entry.line == 1 ? ", with which an extended XYZ file begins: convert "
                                                "other formats, such as OUTCAR, with ASE or dpdata"
                                              : ""));
    if (entry.natoms == 0)
      throw Error(fmt::format("{}: the frame has no atoms; leave it out", where(entry.line)));
    std::string_view line;
    if (!lines_.next(line)) cut(entry, "the line after the number of atoms");
    const ExtxyzOutline outline = outline_of_extxyz(line, where(lines_.number()));
    const ExtxyzColumns &columns = outline.columns;
    entry.labels = outline.labels;
    UnreadLabels &unread = index_.unread;
    if (unread.energy.empty()) unread.energy = outline.unread.energy;
    if (unread.force.empty()) unread.force = outline.unread.force;
    if (unread.virial.empty()) unread.virial = outline.unread.virial;
    const bool by_number = columns.species < 0;
    const int column = by_number ? columns.number : columns.species;
    const bool first_frame = index_.frames.empty();
    index_.same_atoms =
        index_.same_atoms &&
        (first_frame || entry.natoms == static_cast<std::int64_t>(first_atoms_.size()));
    for (std::int64_t i = 0; i < entry.natoms; ++i) {
      if (!lines_.next(line)) cut(entry, fmt::format("atom {}", i + 1));
      std::string_view rest = line, word;
      for (int k = 0; k <= column; ++k) word = take_word(rest);
      const int species = species_of(word, by_number);
      if (first_frame)
        first_atoms_.push_back(species);
      else if (index_.same_atoms)
        index_.same_atoms = first_atoms_[i] == species;
    }
    index_.frames.push_back(entry);
    index_.end = lines_.position();
  }

  [[noreturn]] void cut(const ExtxyzIndex::Entry &entry, const std::string &missing) const
  {
    throw Error(fmt::format("{}: the frame has {} atoms, but the file ends before {}; the file is "
                            "truncated or the number is wrong: copy or write the file again",
                            where(entry.line), entry.natoms, missing));
  }

  int species_of(std::string_view word, bool by_number)
  {
    // one and the same element often follows itself
    if (!last_word_.empty() && word == last_word_ && by_number == last_by_number_) return last_;
    const std::string name = element_name(word, by_number);
    if (name.empty())
      throw Error(fmt::format("{}: found '{}', expected {}; the number of atoms of the frame or "
                              "the columns may be wrong",
                              where(lines_.number()), shown(std::string(word)),
                              by_number ? "an atomic number" : "the name of an element"));
    auto &names = index_.species;
    last_ = static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
    if (last_ == static_cast<int>(names.size())) {
      if (names.size() == max_species)
        throw Error(fmt::format(
            "{}: more than {} different names of atoms; check Properties, the columns may be wrong",
            where(lines_.number()), max_species));
      names.push_back(name);
      index_.species_lines.push_back(lines_.number());
    }
    last_word_ = word;
    last_by_number_ = by_number;
    return last_;
  }

  static constexpr std::size_t max_species = 1000;
  std::string path_;
  Lines lines_;
  ExtxyzIndex index_;
  std::vector<int> first_atoms_;
  std::string last_word_;
  bool last_by_number_ = false;
  int last_ = 0;
};

}  // namespace

ExtxyzIndex scan_extxyz(const ReadAt &read, const std::string &path)
{
  return Scanner(read, path).scan();
}

}  // namespace dptrain
