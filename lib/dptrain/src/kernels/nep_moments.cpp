#include "kernels/nep_moments.h"

#include "kernels/moments_kernels.h"

namespace dptrain::kernels {

namespace {

/// The slope of the energy along edges to neighbors of a type, from dE/dmoments of degree 0.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION Lanes<Real> radial_slope(const typename NepMoments<Real>::Part &m,
                                                     int type, const Edge<Lanes<Real>> &e,
                                                     const Real *g)
{
  using L = Lanes<Real>;
  L sum = {};
  m.basis.evaluate(type, e.r, e.inv_r,
                   [&](int k, L, L slope) DPTRAIN_ALWAYS_INLINE { sum += slope * g[k]; });
  return sum;
}

template <int l_max, class Real>
void nep_reverse_kernel(const NepMoments<Real> &m, const Real *g_radial, const Real *g_angular,
                        const ForceSums &sums)
{
  constexpr int rows = num_harmonics(l_max), lanes = num_lanes<Real>;
  using L = Lanes<Real>;
  const Edges<Real> edges = m.radial.edges;
  const int column = edges.max_count, radial = m.radial.basis.size,
            angular = m.angular.basis.size * rows;
  const std::size_t bytes =
      static_cast<std::size_t>(radial + angular + 3 * column) * sizeof(Real) + 64;
  launch_shared(
      "dptrain::nep_reverse", edges.num_centers, sums.copies, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        Real *of_radial = reinterpret_cast<Real *>(memory), *of_angular = of_radial + radial;
        Real *columns = of_angular + angular;
        Real *const d[3] = {columns, columns + column, columns + 2 * column};
        const int first = edges.first[i];
        const long step = edges.num_centers, stride = step * rows;
        for (int type = 0; type < edges.ntypes; ++type) {
          const Run all = run_of(m.radial, i, type);
          if (all.count == 0) continue;
          const Run near = run_of(m.angular, i, type);
          const Real *from_radial = g_radial + place_of(m.radial, i, type),
                     *from_angular = g_angular + place_of(m.angular, i, type);
          team_for(team, radial, [=](int k) { of_radial[k] = from_radial[k * step]; });
          team_for(team, angular,
                   [=](int k) { of_angular[k] = from_angular[k / rows * stride + k % rows]; });
          for_lanes(team, (all.count + lanes - 1) / lanes, [=](int p) DPTRAIN_ALWAYS_INLINE {
            const int slot = all.first + p * lanes, left = all.count - p * lanes;
            const int n = left < lanes ? left : lanes;
            const Edge<L> e = load_edge(m.radial, slot, n);
            const L slope = radial_slope<Real>(m.radial, type, e, of_radial);
            L edge[3] = {slope * e.x, slope * e.y, slope * e.z};
            if (p * lanes < near.count) {  // beyond their cutoff the functions are zero
              L more[3];
              edge_gradient<l_max>(m.angular, type, e, of_angular, more);
              for (int a = 0; a < 3; ++a) edge[a] += more[a];
            }
            for (int a = 0; a < 3; ++a) store_lanes<Real>(edge[a], n, d[a] + slot - first);
          });
        }
        add_forces(team, edges, i, first, edges.count[i], {d[0], d[1], d[2]}, sums, copy);
      });
}

}  // namespace

template <class Real>
void moments_value(const Moments<Real, ChebyshevBasis<Real>> &m, Real *moments)
{
  with_l_max<most_nep_l>(m.l_max,
                         [&](auto l) { moments_value_kernel<decltype(l)::value>(m, moments); });
}

template <class Real>
void moments_jvp(const Moments<Real, ChebyshevBasis<Real>> &m, const double *r,
                 const double *strain, Real *moments_dot)
{
  with_l_max<most_nep_l>(
      m.l_max, [&](auto l) { moments_jvp_kernel<decltype(l)::value>(m, r, strain, moments_dot); });
}

template <class Real>
void moments_reverse(const NepMoments<Real> &m, const Real *g_radial, const Real *g_angular,
                     const ForceSums &sums)
{
  with_l_max<most_nep_l>(m.angular.l_max, [&](auto l) {
    nep_reverse_kernel<decltype(l)::value>(m, g_radial, g_angular, sums);
  });
}

#define DPTRAIN_INSTANTIATE(Real)                                                        \
  template void moments_value(const Moments<Real, ChebyshevBasis<Real>> &, Real *);      \
  template void moments_jvp(const Moments<Real, ChebyshevBasis<Real>> &, const double *, \
                            const double *, Real *);                                     \
  template void moments_reverse(const NepMoments<Real> &, const Real *, const Real *,    \
                                const ForceSums &);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
