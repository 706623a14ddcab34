#pragma once

#include <array>
#include <functional>
#include <vector>

namespace dptrain {

/// The energy of charges of atoms that act on each other at all distances, smeared as Gaussians, and its derivatives.
struct ChargeEnergy {
  double energy = 0.0;             ///< eV, this rank's share
  std::array<double, 9> virial{};  ///< eV, this rank's share, -dE/dstrain at fixed charges
  std::vector<double> force;       ///< [nlocal][3] eV/Angstrom, -dE/dr_i at fixed charges
  std::vector<double> potential;   ///< [nlocal] V, dE/dq_i, where asked for
  std::vector<double> virials;     ///< [nlocal][9] eV, where asked for
};
struct ChargeRequest {
  bool potential = false, virials = false;
};
/// A way of the engine to it, in place of the library's own sums, for the same Gaussians. Collective over the ranks
/// that have the frame.
using ChargeSolver =
    std::function<ChargeEnergy(const std::vector<double> &charge, const ChargeRequest &request)>;

}  // namespace dptrain
