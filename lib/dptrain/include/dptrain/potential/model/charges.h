#pragma once

#include <optional>
#include <vector>

namespace dptrain {

/// Coulomb's constant e^2 / (4 pi eps0), eV Angstrom.
constexpr double coulomb_constant = 14.399645478;

/// Charges of the atoms in a model, which act on each other at all distances: as Gaussians of this width, see ReciprocalSum.
struct Charges {
  std::vector<double>
      by_type;  ///< e; of all atoms of an element, or what these begin with, see ChargeNets
  std::optional<double> total =
      0.0;             ///< e, of all atoms; none: frames have their own, 0 where it is not known
  double sigma = 0.0;  ///< Angstrom

  /// By type, in a frame with so many atoms of each type: what is missing of its total charge is divided among all of its atoms.
  std::vector<double> in_frame(const std::vector<double> &counts, double total) const;
};

}  // namespace dptrain
