#pragma once

#include <cstdint>
#include <vector>

#include "dptrain/frames/frame.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// A frame whose energy is far from what its composition tells.
struct EnergyOutlier {
  std::size_t system;
  std::int64_t frame;
  double energy;  ///< eV
  double
      per_atom;  ///< eV, from the energy bias of the other frames, divided by the number of atoms
};

struct EnergyOutliers {
  std::vector<EnergyOutlier> frames;  ///< the farthest one first
  double typical = 0.0;              ///< eV per atom, 1.48 times the median deviation of all frames
  std::vector<double> bias_without;  ///< [ntypes] eV, energy bias of the others
};

/// Finds frames whose energies are wrong, such as those of atoms on top of each other or of calculations that have not
/// converged. A least-squares fit follows one such frame by hundreds of eV, so the energies of atoms are fitted to the
/// least sum of absolute deviations per atom (iteratively reweighted least squares), which few frames do not move. A frame
/// is an outlier if it deviates by more than 30 times the typical deviation and 10 eV per atom, which is more than any
/// bond gives.
class OutlierSearch {
 public:
  explicit OutlierSearch(int ntypes) : ntypes_(ntypes) {}
  /// Adds a whole frame with atom types [natoms] (-1: not counted). Frames without energy are left out.
  void add(const std::vector<int> &type, const Label &label, std::size_t system,
           std::int64_t frame);
  /// Over the frames of all ranks; the same on all of them. Collective.
  EnergyOutliers find(const Communicator &comm);

 private:
  int ntypes_;
  std::vector<double> rows_;  // [frames][ntypes + 3]: atoms of each type, energy, system, frame
};

}  // namespace dptrain
