#include "kernels/walls.h"

#include <cmath>

#include "kernels/edge_forces.h"
#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

namespace {

struct ValueAndSlope {
  double value, slope;
};

/// Z_i Z_j e^2 / r phi(r / a).
KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope screened_repulsion(const Wall &wall, double r)
{
  constexpr double part[4] = {0.02817, 0.28022, 0.50986, 0.18175};
  constexpr double decay[4] = {0.20162, 0.40290, 0.94229, 3.19980};
  double phi = 0.0, slope = 0.0;
  for (int k = 0; k < 4; ++k) {
    const double rate = decay[k] * wall.screening, term = part[k] * std::exp(-rate * r);
    phi += term;
    slope -= rate * term;
  }
  const double coulomb = wall.charges / r;
  return {coulomb * phi, coulomb * (slope - phi / r)};
}

KOKKOS_FORCEINLINE_FUNCTION std::uint64_t code_of(double ratio, int center, int neighbor)
{
  return static_cast<std::uint64_t>(ratio * Closeness::resolution) << 16 |
         static_cast<std::uint64_t>(center << 8 | neighbor);
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

/// The wall at a distance inside of it.
KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope wall_at(const Wall &wall, double r)
{
  const double range = (1.0 - wall_end) * wall.begin, t = (wall.begin - r) / range;
  const ValueAndSlope zbl = screened_repulsion(wall, r);
  if (t >= 1.0) return zbl;
  const double u = t * t;
  const double on = u * u * u * (6.0 * u * u - 15.0 * u + 10.0);
  const double slope = -60.0 * t * u * u * (1.0 - u) * (1.0 - u) / range;
  return {on * zbl.value, on * zbl.slope + slope * zbl.value};
}

}  // namespace

template <class Real>
void add_walls(const Edges<Real> &edges, int type, const Wall *walls, const Real *begin_squared,
               double *energies, const ForceSums &sums, Closeness *closest)
{
  const int column = edges.max_count;
  const std::size_t bytes = 3 * static_cast<std::size_t>(column) * sizeof(Real) + 64;
  launch_shared(
      "dptrain::walls", edges.num_centers, sums.copies, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        const int first = edges.first[i], count = edges.count[i];
        const auto distance_squared = [=](int slot) {
          const Real x = edges.d[0][slot], y = edges.d[1][slot], z = edges.d[2][slot];
          return x * x + y * y + z * z;
        };
        const auto is_inside = [=](int slot) {
          return distance_squared(slot) < begin_squared[edges.type[slot]];
        };
        if (team_sum<int>(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE {
              return is_inside(first + e) ? 1 : 0;
            }) == 0)
          return;
        Real *own = reinterpret_cast<Real *>(memory);
        Real *const g[3] = {own, own + column, own + 2 * column};
        const double energy = sum_in_turn(team, count, [=](int e) {
          const int slot = first + e;
          for (int a = 0; a < 3; ++a) g[a][e] = 0;
          if (!is_inside(slot)) return 0.0;
          const double r = std::sqrt(static_cast<double>(distance_squared(slot)));
          const Wall &wall = walls[edges.type[slot]];
          const ValueAndSlope at = wall_at(wall, r);
          for (int a = 0; a < 3; ++a)
            g[a][e] = static_cast<Real>(0.5 * at.slope / r * edges.d[a][slot]);
          take_smaller(&closest[copy].code, code_of(r / wall.begin, type, edges.type[slot]));
          return 0.5 * at.value;
        });
        Kokkos::single(Kokkos::PerTeam(team), [&]() { energies[i] += energy; });
        add_forces(team, edges, i, first, count, {g[0], g[1], g[2]}, sums, copy);
      });
}

template void add_walls(const Edges<double> &, int, const Wall *, const double *, double *,
                        const ForceSums &, Closeness *);
template void add_walls(const Edges<float> &, int, const Wall *, const float *, double *,
                        const ForceSums &, Closeness *);

}  // namespace dptrain::kernels
