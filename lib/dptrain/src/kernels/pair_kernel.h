#pragma once

#include <cmath>

#include "kernels/edges.h"
#include "kernels/kokkos_types.h"
#include "kernels/pair_sums.h"
#include "kernels/workers.h"

namespace dptrain::kernels {

/// The universal screened Coulomb repulsion of two nuclei (J. F. Ziegler, J. P. Biersack, U. Littmark, The Stopping and Range of
/// Ions in Matter (1985)), charges / r phi(screening r), charges = Z_i Z_j e^2, with its derivatives by r.
struct ScreenedRepulsion {
  double value, slope, curvature;
};
KOKKOS_FORCEINLINE_FUNCTION ScreenedRepulsion screened_repulsion(double charges, double screening,
                                                                 double r)
{
  constexpr double part[4] = {0.02817, 0.28022, 0.50986, 0.18175};
  constexpr double decay[4] = {0.20162, 0.40290, 0.94229, 3.19980};
  double phi = 0.0, slope = 0.0, curvature = 0.0;
  for (int k = 0; k < 4; ++k) {
    const double rate = decay[k] * screening, term = part[k] * std::exp(-rate * r);
    phi += term;
    slope -= rate * term;
    curvature += rate * rate * term;
  }
  const double coulomb = charges / r;
  return {coulomb * phi, coulomb * (slope - phi / r),
          coulomb * (curvature - 2.0 * (slope - phi / r) / r)};
}

/// As team_sum, of a function whose calls may not be vectorized: they share what they write to.
template <class F>
KOKKOS_FORCEINLINE_FUNCTION double sum_in_turn(const Team &team, int n, const F &f)
{
  double sum = 0.0;
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_reduce(
      Kokkos::TeamVectorRange(team, n), [&](int j, double &part) { part += f(j); }, sum);
#else
  (void) team;
  for (int j = 0; j < n; ++j) sum += f(j);
#endif
  return sum;
}

/// Adds half of the energies of the pairs of a chunk to those of the centers, eV, and leaves what the forces need. `pairs` has for
/// the types of neighbors: reach_squared(type), Angstrom^2, for a quick look; at(type, r), value and slope inside of it; and
/// seen(copy, type, r), which is told each such pair.
template <class Real, class Pairs>
void launch_pairs(const char *name, const Edges<Real> &edges, const Pairs &pairs, double *energies,
                  const PairSlopes &slopes)
{
  launch_shared(
      name, edges.num_centers, workers(), 0,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *) {
        const int first = edges.first[i], count = edges.count[i];
        const auto distance_squared = [=](int slot) {
          const Real x = edges.d[0][slot], y = edges.d[1][slot], z = edges.d[2][slot];
          return x * x + y * y + z * z;
        };
        const auto is_inside = [=](int slot) {
          return distance_squared(slot) < pairs.reach_squared(edges.type[slot]);
        };
        const int inside = team_sum<int>(
            team, count, [=](int e) DPTRAIN_ALWAYS_INLINE { return is_inside(first + e) ? 1 : 0; });
        Kokkos::single(Kokkos::PerTeam(team), [&]() { slopes.inside[i] = inside > 0; });
        if (inside == 0) return;
        const double energy = sum_in_turn(team, count, [=](int e) {
          const int slot = first + e, type = edges.type[slot];
          slopes.slope[slot] = 0.0;
          if (!is_inside(slot)) return 0.0;
          const double r = std::sqrt(static_cast<double>(distance_squared(slot)));
          const ValueAndSlope at = pairs.at(type, r);
          slopes.slope[slot] = 0.5 * at.slope / r;
          pairs.seen(copy, type, r);
          return 0.5 * at.value;
        });
        Kokkos::single(Kokkos::PerTeam(team), [&]() { energies[i] += energy; });
      });
}

}  // namespace dptrain::kernels
