#pragma once

#include <string>
#include <vector>

namespace dptrain {

/// Energy and force of a pair by distance.
struct PairTable {
  std::vector<double> distance;  ///< Angstrom, ascending
  std::vector<double> energy;    ///< eV
  std::vector<double> force;     ///< eV/Angstrom, minus the slope of the energy
};

/// A section of a file of LAMMPS' pair_style table, in units metal; the only one where `keyword` is empty. Throws Error that names
/// the file and what is wrong.
PairTable read_pair_table(const std::string &file, const std::string &keyword);

/// Throws Error, which begins with `what`, unless distances ascend, energies and forces belong together, and both are next to
/// nothing at the end.
void check_pair_table(const PairTable &table, const std::string &what);

/// The same on equal steps: as it is, or, with steps as small as the smallest one, interpolated by cubic Hermite splines.
PairTable on_equal_steps(const PairTable &table);

}  // namespace dptrain
