#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Langevin dynamics of a frame at constant temperature. All atoms have the same mass: configurations, which do not depend on masses, are
/// all that is wanted, and then the time step is the same for all elements. Integrator: BAOAB (Leimkuhler and Matthews, Appl. Math.
/// Res. Express 2013, 34). The same on all ranks.
class LangevinWalk {
 public:
  /// `kt`: temperature times Boltzmann's constant, eV. The velocities are random.
  LangevinWalk(WholeFrame start, double kt, std::uint64_t seed);

  /// The present configuration; its step grows by one with each step.
  const WholeFrame &frame() const { return frame_; }
  /// `force`: on the atoms where they are, eV/Angstrom, [natoms][3].
  void step(const std::vector<double> &force);
  bool is_finite() const;

 private:
  WholeFrame frame_;
  double kt_;
  RandomEngine random_;
  std::vector<double> velocity_;  // Angstrom per unit of time, of atoms with mass 1; [natoms][3]
};

}  // namespace dptrain
