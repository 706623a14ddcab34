#include "kernels/walls.h"

#include "kernels/pair_kernel.h"

namespace dptrain::kernels {

namespace {

KOKKOS_FORCEINLINE_FUNCTION std::uint64_t code_of(double ratio, int center, int neighbor)
{
  return static_cast<std::uint64_t>(ratio * Closeness::resolution) << 16 |
         static_cast<std::uint64_t>(center << 8 | neighbor);
}

/// The wall at a distance inside of it.
KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope wall_at(const Wall &wall, double r)
{
  const double range = (1.0 - wall_end) * wall.begin, t = (wall.begin - r) / range;
  const ScreenedRepulsion zbl = screened_repulsion(wall.charges, wall.screening, r);
  if (t >= 1.0) return {zbl.value, zbl.slope};
  const double u = t * t;
  const double on = u * u * u * (6.0 * u * u - 15.0 * u + 10.0);
  const double slope = -60.0 * t * u * u * (1.0 - u) * (1.0 - u) / range;
  return {on * zbl.value, on * zbl.slope + slope * zbl.value};
}

/// The walls of centers of a type.
template <class Real> struct WallPairs {
  const Wall *walls;
  const Real *begin_squared;
  Closeness *closest;
  int center;
  KOKKOS_FORCEINLINE_FUNCTION Real reach_squared(int type) const { return begin_squared[type]; }
  KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope at(int type, double r) const
  {
    return wall_at(walls[type], r);
  }
  KOKKOS_FORCEINLINE_FUNCTION void seen(int copy, int type, double r) const
  {
    take_smaller(&closest[copy].code, code_of(r / walls[type].begin, center, type));
  }
};

}  // namespace

template <class Real>
void add_walls(const Edges<Real> &edges, int type, const Wall *walls, const Real *begin_squared,
               double *energies, const PairSlopes &slopes, Closeness *closest)
{
  launch_pairs("dptrain::walls", edges, WallPairs<Real>{walls, begin_squared, closest, type},
               energies, slopes);
}

template void add_walls(const Edges<double> &, int, const Wall *, const double *, double *,
                        const PairSlopes &, Closeness *);
template void add_walls(const Edges<float> &, int, const Wall *, const float *, double *,
                        const PairSlopes &, Closeness *);

}  // namespace dptrain::kernels
