#pragma once

#include "kernels/edges.h"
#include "kernels/force_sums.h"
#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

/// Adds the gradients g = dE/d(r_j - r_i) of the `count` edges of a center i, from slot `first` on, to one copy of the sums:
/// F_i += g, F_j -= g, W -= g (x) d. g[a][e]: component a of edge e, in the memory of the team.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void add_forces(const Team &team, const Edges<Real> &edges, int i,
                                            int first, int count, const Real *const (&g)[3],
                                            const ForceSums &sums, int copy)
{
  double *force = sums.force + 3L * sums.atoms * copy;
  double *atom_virial = sums.atom_virial ? sums.atom_virial + 9L * sums.atoms * copy : nullptr;
  double *own = force + 3L * edges.centers[i];
  double *virial = sums.virial + 9L * (static_cast<long>(sums.frames) * copy + edges.frame[i]);
  // twelve sums over the edges of the center: three for the force, nine for the virial
#if DPTRAIN_DEVICE_PASS
  Sums<double, 12> total;
  Kokkos::parallel_reduce(
      Kokkos::TeamVectorRange(team, count),
      [&](int e, Sums<double, 12> &part) {
        for (int a = 0; a < 3; ++a) {
          const Real ga = g[a][e];
          part.s[9 + a] += ga;
          for (int k = 0; k < 3; ++k) part.s[3 * a + k] += ga * edges.d[k][first + e];
        }
      },
      total);
  Kokkos::single(Kokkos::PerTeam(team), [&]() {
    for (int a = 0; a < 3; ++a) add_shared(own + a, total.s[9 + a]);
    for (int k = 0; k < 9; ++k) add_shared(virial + k, -total.s[k]);
  });
#else
  (void) team;
  const auto total = [&](int a, int k) {
    const Real *ga = g[a], *d = k < 3 ? edges.d[k] + first : nullptr;
    Real part = 0;
    if (d) {
      _Pragma("omp simd reduction(+ : part)") for (int e = 0; e < count; ++e) part += ga[e] * d[e];
    } else {
      _Pragma("omp simd reduction(+ : part)") for (int e = 0; e < count; ++e) part += ga[e];
    }
    return static_cast<double>(part);
  };
  for (int a = 0; a < 3; ++a) {
    const double on_center = total(a, 3);
    double w[3];
    for (int k = 0; k < 3; ++k) w[k] = total(a, k);
    add_shared(own + a, on_center);
    for (int k = 0; k < 3; ++k) add_shared(virial + 3 * a + k, -w[k]);
  }
#endif
  const auto to_neighbor = [=](int e) {
    const int slot = first + e;
    const long j = edges.neighbor[slot];
    for (int a = 0; a < 3; ++a) {
      add_shared(force + 3 * j + a, -g[a][e]);
      if (atom_virial)
        for (int k = 0; k < 3; ++k)
          add_shared(atom_virial + 9 * j + 3 * a + k, -g[a][e] * edges.d[k][slot]);
    }
  };
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, count), to_neighbor);
#else
  for (int e = 0; e < count; ++e) to_neighbor(e);
#endif
}

}  // namespace dptrain::kernels
