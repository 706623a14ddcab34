#pragma once

namespace dptrain {

/// The units of an engine: what one eV and one Angstrom are in them. The library computes in eV and Angstrom; this is for
/// what users see, and for those who translate.
struct UnitFactors {
  double energy = 1.0;  ///< energy units per eV
  double length = 1.0;  ///< length units per Angstrom
  double force() const { return energy / length; }
};

}  // namespace dptrain
