#pragma once

#include <map>
#include <string>
#include <vector>

namespace dptrain {

/// A force field of the engine that is a part of a potential, in the words of LAMMPS' commands. The labels that the net learns are
/// those of the reference less its values, which the engine adds wherever the potential runs.
struct Baseline {
  std::string pair_style;                  ///< style and arguments
  std::vector<std::string> pair_coeff;     ///< arguments of the commands
  std::vector<std::string> pair_modify;    ///< ditto
  std::string kspace_style;                ///< style and arguments; empty: none
  std::vector<std::string> kspace_modify;  ///< arguments of the commands
  std::string units = "metal";        ///< of the numbers in these words: a units style of LAMMPS
  std::vector<std::string> elements;  ///< of the atom types 1, 2, ... in these words
  /// Of the atoms of an element, in elementary charges, where a frame is evaluated that has none; empty: not known, or not needed.
  std::map<std::string, double> charges;

  bool operator==(const Baseline &) const = default;
};

/// As the key `baseline` of an input.json.
std::string text_of(const std::vector<Baseline> &baseline);
/// In words, for messages and logs: "born/coul/long 8.0 with pppm 1.0e-5".
std::string name_of(const std::vector<Baseline> &baseline);

}  // namespace dptrain
