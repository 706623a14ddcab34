#pragma once

#include <cstdint>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// The moving atoms of this rank, by pointers into an engine.
struct MovingAtoms {
  std::int64_t n = 0;
  const std::int64_t *id = nullptr;  ///< [n]
  const double *mass = nullptr;      ///< [n]
  double *velocity = nullptr;        ///< [n][3]
};

/// Adds to the velocity of each atom a random vector with components of `strength` times its length, so that a run that goes back
/// to a state does not repeat what it did. Total momentum and kinetic energy stay as they are, and so do atoms at rest. The random
/// numbers belong to seed, number (of the stirring) and id of the atom: any number of ranks gives the same, up to the
/// rounding of sums. Collective.
void stir_velocities(const Communicator &comm, const MovingAtoms &atoms, double strength,
                     std::uint64_t seed, std::uint64_t number);

}  // namespace dptrain
