#pragma once

#include <cstdint>

#include "kernels/edges.h"
#include "kernels/pair_sums.h"

namespace dptrain::kernels {

/// The repulsion of two types of atoms below a distance: the universal screened repulsion of their nuclei, switched on from `begin`
/// to `wall_end` of it by s(t^2), s(u) = u^3 (6 u^2 - 15 u + 10): smooth at both ends, and next to nothing at first, where a net
/// still knows better (2e-4 at 0.95 of `begin`, 0.01 at 0.9).
struct Wall {
  double begin = 0.0;      ///< Angstrom; 0: there is none
  double charges = 0.0;    ///< strength * Z_i Z_j e^2, eV Angstrom
  double screening = 0.0;  ///< 1/Angstrom, of the distance
};
constexpr double wall_end = 0.7;

/// How close two atoms came in terms of the distance at which their wall begins, with their types. The smaller, the closer.
struct Closeness {
  static constexpr std::uint64_t none = ~std::uint64_t(0);
  static constexpr double resolution = 1.1e12;  // 2^40
  std::uint64_t code = none;
  double ratio() const { return static_cast<double>(code >> 16) / resolution; }
  int center() const { return static_cast<int>(code >> 8 & 255); }
  int neighbor() const { return static_cast<int>(code & 255); }
};

/// Adds half of the walls' energies of the edges of a chunk to the energies of the centers, eV, and leaves what the forces need.
/// walls: [ntypes] of centers of `type`; begin_squared: the same distances, squared, for a quick look. closest: [workers()], made
/// smaller by each pair inside of a wall.
template <class Real>
void add_walls(const Edges<Real> &edges, int type, const Wall *walls, const Real *begin_squared,
               double *energies, const PairSlopes &slopes, Closeness *closest);

}  // namespace dptrain::kernels
