#pragma once

#include "kernels/edges.h"
#include "kernels/force_sums.h"

namespace dptrain::kernels {

struct ValueAndSlope {
  double value, slope;
};

/// What the forces of a sum over pairs need of its energies.
struct PairSlopes {
  double *slope = nullptr;  ///< [slots] dE_i/dr / r, eV/Angstrom^2, of the centers that are inside
  char *inside = nullptr;   ///< [centers] whether any of its pairs has an energy
};

/// Adds the forces and virials of sum_i seeds_i E_i to the sums; seeds [centers], null: ones.
template <class Real>
void add_pair_forces(const Edges<Real> &edges, const PairSlopes &slopes, const Real *seeds,
                     const ForceSums &sums);

}  // namespace dptrain::kernels
