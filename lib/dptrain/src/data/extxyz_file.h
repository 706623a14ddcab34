#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/extxyz_header.h"
#include "dptrain/frames/whole_frame.h"
#include "io/file.h"

namespace dptrain {

/// Where the frames of an extended XYZ file are, and their atoms' names: found in one pass over the file.
struct ExtxyzIndex {
  struct Entry {
    std::int64_t offset = 0;  ///< of the line with the number of atoms
    std::int64_t line = 0;    ///< its number, from 1
    std::int64_t natoms = 0;
    LabelKinds labels;
  };
  std::vector<Entry> frames;
  std::int64_t end = 0;                     ///< of the last frame
  std::vector<std::string> species;         ///< names in the order in which they appear
  std::vector<std::int64_t> species_lines;  ///< where each appears first
  UnreadLabels unread;     ///< of frames without such a label, the first of each kind
  bool same_atoms = true;  ///< all frames have the same names in the same order
};

/// Throws Error that names `path` and the line if a frame is cut or has a wrong number of atoms or columns.
ExtxyzIndex scan_extxyz(const ReadAt &read, const std::string &path);

/// The frame whose lines are `text`, the first of which has the number `line`. `types`: the model's type of each name.
/// Throws Error that names `path` and the line.
WholeFrame parse_extxyz_frame(std::string_view text, std::int64_t line, const std::string &path,
                              const std::map<std::string, int, std::less<>> &types);

/// Number of atoms that the first line of a frame tells, or -1.
std::int64_t parse_atom_count(std::string_view line);
/// Takes the first line off `text`, without the end of the line.
std::string_view take_line(std::string_view &text);
/// Takes the first word off `line`; empty at the end.
std::string_view take_word(std::string_view &line);
/// Name of the atom as data sets have it: Fe for fe and 26.
std::string element_name(std::string_view word, bool is_number);

}  // namespace dptrain
