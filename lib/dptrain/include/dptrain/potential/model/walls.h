#pragma once

#include <vector>

#include "dptrain/frames/pair_distances.h"

namespace dptrain {

/// The repulsion that keeps atoms from coming closer to each other than in all that a potential was trained with: for each two
/// types the universal screened repulsion of their nuclei (ZBL), switched on from `begin` to 0.7 of it.
struct Walls {
  PairDistances begin;           ///< the smallest distances that were learned, at most the cutoff
  std::vector<double> strength;  ///< [ntypes][ntypes] factor of ZBL

  Walls() = default;
  Walls(int ntypes, double all) : begin(ntypes, all), strength(begin.values().size(), 1.0) {}
  bool empty() const { return strength.empty(); }
  template <class Visit> void fields(Visit &visit) { visit("begin, strength", begin, strength); }
};

/// A pair of atoms inside of a wall.
struct WallContact {
  double ratio =
      1.0;  ///< of its distance to that at which the wall begins; 1: there is no such pair
  double distance = 0.0;  ///< Angstrom
  int types[2] = {};
  /// Whether they are closer than what a potential may be trusted to find from what it has learned of others.
  bool is_touched() const { return ratio < 0.95; }
};

}  // namespace dptrain
