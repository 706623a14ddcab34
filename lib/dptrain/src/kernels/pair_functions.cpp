#include "kernels/pair_functions.h"

#include "kernels/pair_kernel.h"

namespace dptrain::kernels {

namespace {

KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope value_of(const Zbl &zbl, double r)
{
  const ScreenedRepulsion bare = screened_repulsion(zbl.charges, zbl.screening, r);
  const double t = r - zbl.inner;
  if (t <= 0.0) return {bare.value + zbl.shift, bare.slope};
  return {bare.value + zbl.shift + t * t * t * (zbl.cubic / 3.0 + zbl.quartic / 4.0 * t),
          bare.slope + t * t * (zbl.cubic + zbl.quartic * t)};
}

KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope value_of(const NepZbl &zbl, double r)
{
  constexpr double pi = 3.14159265358979323846;
  double phi = 0.0, slope = 0.0;
  for (int k = 0; k < 4; ++k) {
    const double term = zbl.part[k] * std::exp(-zbl.rate[k] * r);
    phi += term;
    slope -= zbl.rate[k] * term;
  }
  const double coulomb = zbl.charges / r, value = coulomb * phi, bare = coulomb * (slope - phi / r);
  if (r < zbl.inner) return {value, bare};
  if (r >= zbl.outer) return {0.0, 0.0};
  const double rate = pi / (zbl.outer - zbl.inner), angle = rate * (r - zbl.inner);
  const double off = 0.5 * (1.0 + std::cos(angle)), change = -0.5 * rate * std::sin(angle);
  return {value * off, bare * off + value * change};
}

/// A straight line, and what bends it at both ends.
KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope cubic(const double *left, const double *right,
                                                double step, double t)
{
  const double rise = right[0] - left[0], a = step * left[1] - rise, b = rise - step * right[1];
  const double bend = (1.0 - t) * a + t * b;
  return {left[0] + t * rise + t * (1.0 - t) * bend,
          (rise + (1.0 - 2.0 * t) * bend + t * (1.0 - t) * (b - a)) / step};
}

KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope value_of(const PairSpline &spline, double r)
{
  const double *knots = spline.knots;
  if (r < spline.begin) return {knots[0] + knots[1] * (r - spline.begin), knots[1]};
  const double place = (r - spline.begin) / spline.step;
  const int last = spline.intervals - 1, found = static_cast<int>(place);
  const int k = found < last ? found : last;  // distances are rounded
  return cubic(knots + 2L * k, knots + 2L * k + 2, spline.step, place - k);
}

template <class Real, class Function> struct FunctionPairs {
  const Function *functions;
  const Real *reach;
  KOKKOS_FORCEINLINE_FUNCTION Real reach_squared(int type) const { return reach[type]; }
  KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope at(int type, double r) const
  {
    return value_of(functions[type], r);
  }
  KOKKOS_FORCEINLINE_FUNCTION void seen(int, int, double) const {}
};

template <class Real> struct SplinePairs {
  PairSpline function;
  const Real *reach;
  KOKKOS_FORCEINLINE_FUNCTION Real reach_squared(int type) const { return reach[type]; }
  KOKKOS_FORCEINLINE_FUNCTION ValueAndSlope at(int, double r) const
  {
    return value_of(function, r);
  }
  KOKKOS_FORCEINLINE_FUNCTION void seen(int, int, double) const {}
};

}  // namespace

Zbl smooth_zbl(double charges, double screening, double inner, double outer)
{
  const ScreenedRepulsion end = screened_repulsion(charges, screening, outer);
  const double width = outer - inner, bend = width * end.curvature;
  Zbl zbl{inner, outer, charges, screening};
  zbl.cubic = (-3.0 * end.slope + bend) / (width * width);
  zbl.quartic = (2.0 * end.slope - bend) / (width * width * width);
  zbl.shift = -end.value + width * end.slope / 2.0 - width * bend / 12.0;
  return zbl;
}

ValueAndSlope between_knots(const double *left, const double *right, double step, double part)
{
  return cubic(left, right, step, part);
}

template <class Real>
void add_zbl(const Edges<Real> &edges, const Zbl *functions, const Real *reach_squared,
             double *energies, const PairSlopes &slopes)
{
  launch_pairs("dptrain::zbl", edges, FunctionPairs<Real, Zbl>{functions, reach_squared}, energies,
               slopes);
}

template <class Real>
void add_nep_zbl(const Edges<Real> &edges, const NepZbl *functions, const Real *reach_squared,
                 double *energies, const PairSlopes &slopes)
{
  launch_pairs("dptrain::nep_zbl", edges, FunctionPairs<Real, NepZbl>{functions, reach_squared},
               energies, slopes);
}

template <class Real>
void add_pair_spline(const Edges<Real> &edges, const PairSpline &function,
                     const Real *reach_squared, double *energies, const PairSlopes &slopes)
{
  launch_pairs("dptrain::pair_spline", edges, SplinePairs<Real>{function, reach_squared}, energies,
               slopes);
}

#define DPTRAIN_INSTANTIATE(Real)                                                                \
  template void add_zbl(const Edges<Real> &, const Zbl *, const Real *, double *,                \
                        const PairSlopes &);                                                     \
  template void add_nep_zbl(const Edges<Real> &, const NepZbl *, const Real *, double *,         \
                            const PairSlopes &);                                                 \
  template void add_pair_spline(const Edges<Real> &, const PairSpline &, const Real *, double *, \
                                const PairSlopes &);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
