#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// The neighbors within the cutoff of one atom, grouped by type: those of type t are entries first[t] to first[t + 1].
struct Neighborhood {
  int type = 0;                            ///< of the atom
  const double *length_squared = nullptr;  ///< Angstrom^2
  const double *component_sum = nullptr;   ///< dx + dy + dz of the vector to the neighbor
  const int *first = nullptr;              ///< [ntypes + 1]
};

/// What the sums depend on.
struct StatisticsSettings {
  double rcut = 0.0;            ///< Angstrom
  double rcut_smth = 0.0;       ///< Angstrom, of the switch function s(r)
  double env_protection = 0.0;  ///< Angstrom
  std::vector<int>
      sel;  ///< the moments take only the neighbors that it keeps (two-stage truncation); empty: all
  std::vector<std::array<int, 2>>
      excluded;  ///< pairs of types whose rows are zero; they count as neighbors
};

/// Sums over center atoms from which neighbor statistics, davg, dstd and the energy bias follow. Each rank adds the atoms
/// that it owns; one reduction makes the sums global.
class Statistics {
 public:
  Statistics() = default;
  Statistics(int ntypes, StatisticsSettings settings);

  /// Adds the centers of a domain: distances, neighbor counts, moments of the environment matrix (DeePMD's definition:
  /// un-normalized rows, see davg()). Atoms of type -1 are left out. Throws Error on two atoms at the same position or a
  /// position that is not finite.
  void add(const Domain &domain);
  /// Adds one center.
  void add(const Neighborhood &around);
  /// The single reduction over all ranks. Call once, after all frames.
  void reduce(const Communicator &comm);

  double min_distance() const { return min_distance_; }  ///< Angstrom; infinity without a pair
  const std::vector<int> &max_neighbors() const
  {
    return max_neighbors_;
  }                                      ///< [ntypes] by neighbor type, r <= rcut
  std::int64_t centers(int type) const;  ///< atoms of a type that were added
  /// Of an atom, r <= rcut. Throws Error where it is not known, as sums come from a file that does not have it.
  double mean_neighbors() const;
  /// By center type the sums of radial entries, their squares, angular entries (all three), their squares; [ntypes][4].
  const std::vector<double> &sums() const { return sums_; }
  /// Mean of the radial column for each center type over all sum(sel) slots, padding zeros counted; [ntypes][4], the three
  /// angular columns are 0. All zero with set_zero.
  std::vector<double> davg(const std::vector<int> &sel, bool set_zero) const;
  /// Standard deviation, radial and (pooled) angular, at least `protect`, 0.1 without sample; [ntypes][4].
  std::vector<double> dstd(const std::vector<int> &sel, double protect = 1e-2) const;
  /// DeePMD-kit's `auto:factor`: the integer part of factor * largest count, rounded up to a multiple of 4; at least 4.
  std::vector<int> recommended_sel(double factor) const;

  /// From which data the sums are, in words of the caller: goes through the file, and is not compared.
  const std::string &source() const { return source_; }
  void set_source(const std::string &source) { source_ = source; }

  /// JSON text with a key (types and settings), the source, and all sums.
  std::string to_json(const std::vector<std::string> &type_map) const;
  /// Reads what to_json wrote. Throws Error that says which part of the key differs.
  static Statistics from_json(const std::string &text, const std::string &file_name,
                              const std::vector<std::string> &type_map,
                              const StatisticsSettings &settings);

 private:
  int ntypes_ = 0;
  StatisticsSettings settings_;
  double min_distance_ = 0.0;
  std::vector<int> max_neighbors_;
  std::vector<double>
      sums_;  // [ntypes][4]: radial sum, sum of squares; angular sum, sum of squares
  std::vector<std::int64_t> centers_;  // [ntypes]
  std::vector<char> excluded_;         // [ntypes][ntypes]
  double neighbors_ = 0.0;             // of all centers; negative: not known
  std::string source_;

  bool overflows(const Neighborhood &around) const;
  void add_nearest(const Neighborhood &around);
};

/// Least squares of frame energies on atom counts (minimum norm, as numpy.linalg.lstsq): counts[nframes][ntypes],
/// energies[nframes] in eV; result [ntypes]. Throws Error if the sizes do not fit or a number is not finite.
std::vector<double> fit_energy_bias(const std::vector<double> &counts,
                                    const std::vector<double> &energies, int ntypes);

}  // namespace dptrain
