#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dptrain {

/// The columns of an atom's line that are read, as numbers of columns from 0; -1: there is none.
struct ExtxyzColumns {
  int species = 0, number = -1;  ///< symbol or atomic number
  int position = 1;
  int force = -1, force_weight = -1, atom_energy = -1, atom_pref = -1, atom_ener_coeff = -1;
  int count = 4;
  bool exact = false;  ///< from Properties: each line must have just `count` columns
};

/// What the comment line of a frame in extended XYZ format tells.
struct ExtxyzHeader {
  std::optional<std::array<double, 9>> lattice;  ///< rows a, b, c
  std::array<bool, 3> periodic{};
  std::optional<double> energy;
  std::optional<double> charge;  ///< e, of all atoms
  double weight = 1.0;           ///< of the frame in a training
  std::optional<std::array<double, 9>> virial;
  ExtxyzColumns columns;
};

/// Keys and values of a comment line, split as ASE does: values may stand in "", '', {} or [], a backslash takes the next
/// character as it is, a key without a value is T.
std::vector<std::pair<std::string, std::string>> split_comment(std::string_view line);

/// Which labels a frame has.
struct LabelKinds {
  bool energy = false, force = false, virial = false;
  bool atom_energy = false, atom_pref = false, atom_ener_coeff = false;
};

/// Keys and columns that look like labels which the frame does not have: another program's names. Empty: none.
struct UnreadLabels {
  std::string energy, force, virial;
};

/// What a comment line tells without its numbers.
struct ExtxyzOutline {
  ExtxyzColumns columns;
  LabelKinds labels;
  UnreadLabels unread;
};

/// Reads a comment line. Throws Error that starts with `where`.
ExtxyzHeader parse_extxyz_header(std::string_view line, const std::string &where);
/// Only what needs no numbers.
ExtxyzOutline outline_of_extxyz(std::string_view line, const std::string &where);

/// A number as Python and Fortran write it. False if `text` is none.
bool parse_number(std::string_view text, double &value);

}  // namespace dptrain
