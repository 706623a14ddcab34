#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

struct ModelConfig;

/// The neighbors within the cutoff of one atom, grouped by type: those of type t are entries first[t] to first[t + 1].
struct Neighborhood {
  int type = 0;                            ///< of the atom
  const double *length_squared = nullptr;  ///< Angstrom^2
  const double *component_sum = nullptr;   ///< dx + dy + dz of the vector to the neighbor
  const int *first = nullptr;              ///< [ntypes + 1]
};

/// Sums over center atoms from which neighbor statistics, davg, dstd and the energy bias follow. Each rank adds the atoms
/// that it owns; one reduction makes the sums global.
class Statistics {
 public:
  Statistics() = default;
  /// With `sel` the moments take only the neighbors that the model would keep (two-stage truncation); without, all.
  Statistics(int ntypes, double rcut, double rcut_smth, double env_protection = 0.0,
             std::vector<int> sel = {});

  /// Adds the centers of a domain: distances, neighbor counts, moments of the environment matrix (DeePMD's definition:
  /// un-normalized rows, see davg()). Exclusions are pairs of types whose rows are zero; they count as neighbors.
  /// Atoms of type -1 are left out. Throws Error on two atoms at the same position or a position that is not finite.
  void add(const Domain &domain, const std::vector<std::array<int, 2>> &exclude_types = {});
  /// Pairs of types whose rows are zero in what is added from now on.
  void exclude(const std::vector<std::array<int, 2>> &exclude_types);
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
  /// By center type the sums of radial entries, their squares, angular entries (all three), their squares; [ntypes][4].
  const std::vector<double> &sums() const { return sums_; }
  /// Moments that were computed elsewhere: centers [ntypes], sums [ntypes][4].
  void set_sums(const std::vector<std::int64_t> &centers, const std::vector<double> &sums);
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

  /// JSON text with a key (types, rcut, rcut_smth, env_protection, sel, fingerprint), the source, and all sums. The
  /// fingerprint is the caller's: all else that changes the sums, such as excluded types.
  std::string to_json(const std::vector<std::string> &type_map,
                      const std::string &fingerprint) const;
  /// Reads what to_json wrote. Throws Error that says which part of the key differs.
  static Statistics from_json(const std::string &text, const std::string &file_name,
                              const std::vector<std::string> &type_map, double rcut,
                              double rcut_smth, const std::string &fingerprint,
                              double env_protection = 0.0, const std::vector<int> &sel = {});

 private:
  int ntypes_ = 0;
  double rcut_ = 0.0, rcut_smth_ = 0.0, env_protection_ = 0.0;
  std::vector<int> sel_;
  double min_distance_ = 0.0;
  std::vector<int> max_neighbors_;
  std::vector<double>
      sums_;  // [ntypes][4]: radial sum, sum of squares; angular sum, sum of squares
  std::vector<std::int64_t> centers_;  // [ntypes]
  std::vector<char> excluded_;         // [ntypes][ntypes]
  std::string source_;

  bool overflows(const Neighborhood &around) const;
  void add_nearest(const Neighborhood &around);
};

/// The fingerprint of statistics in which these pairs of types are excluded.
std::string fingerprint_of(const std::vector<std::array<int, 2>> &exclude_types);

/// Least squares of frame energies on atom counts (minimum norm, as numpy.linalg.lstsq): counts[nframes][ntypes],
/// energies[nframes] in eV; result [ntypes]. Throws Error if the sizes do not fit or a number is not finite.
std::vector<double> fit_energy_bias(const std::vector<double> &counts,
                                    const std::vector<double> &energies, int ntypes);

}  // namespace dptrain
