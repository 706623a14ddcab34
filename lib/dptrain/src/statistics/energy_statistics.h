#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Number, mean and sum of squared differences from the mean of numbers that come one by one.
struct Spread {
  double number = 0.0, mean = 0.0, squares = 0.0;

  void add(double value) { merge({1.0, value, 0.0}); }
  /// Chan's formula: no digits are lost where the mean is much larger than the spread.
  void merge(const Spread &other);
};

/// The energy bias of a data set and how well it fits.
struct EnergyBias {
  std::vector<double> bias;  ///< [ntypes] eV
  std::vector<double>
      deviation;  ///< [ntypes] eV, DeePMD-kit's out_std: that of the rest of the frame energies
  double rmse_per_atom = 0.0;  ///< eV, of the rest of frame energy / number of atoms
  std::int64_t frames = 0;     ///< with an energy
};

/// Energies of frames by composition, from which the energy bias follows as DeePMD-kit computes it. Memory grows with the
/// number of different compositions, not with that of frames.
class EnergyStatistics {
 public:
  explicit EnergyStatistics(int ntypes) : ntypes_(ntypes) {}

  /// Adds a whole frame with atom types [natoms] (-1: not counted). Frames without energies are left out.
  /// Throws Error if an energy is not finite.
  void add(const std::vector<int> &type, const Label &label);
  /// Sums over all ranks; collective, once, after all frames.
  void gather(const Communicator &comm);

  /// Least squares of minimum norm over all frames; types in `atom_exclude_types` have no energy. Atomic energies in the
  /// data have no part in it, as in DeePMD-kit.
  /// Types with a given energy, `atom_ener` [ntypes] or empty, keep it.
  EnergyBias fit(const std::vector<int> &atom_exclude_types = {},
                 const std::vector<std::optional<double>> &atom_ener = {}) const;

 private:
  int ntypes_;
  std::map<std::vector<int>, Spread> frames_;  // by number of atoms of each type
};

/// The arrays of all ranks, in rank order, on every rank. Collective.
std::vector<std::vector<double>> gather_arrays(const Communicator &comm,
                                               const std::vector<double> &mine);

}  // namespace dptrain
