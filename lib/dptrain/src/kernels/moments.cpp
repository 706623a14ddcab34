#include "kernels/moments_kernels.h"

namespace dptrain::kernels {

namespace {

template <int l_max, class Real>
void moments_reverse_kernel(const Moments<Real> &m, const Real *g, const ForceSums &sums)
{
  constexpr int rows = num_harmonics(l_max), lanes = num_lanes<Real>;
  using L = Lanes<Real>;
  const int column = m.edges.max_count, of_type = m.basis.size * rows;
  const std::size_t bytes = static_cast<std::size_t>(of_type + 3 * column) * sizeof(Real) + 64;
  launch_shared(
      "dptrain::moments_reverse", m.edges.num_centers, sums.copies, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        Real *own = reinterpret_cast<Real *>(memory);
        Real *const d[3] = {own + of_type, own + of_type + column, own + of_type + 2 * column};
        const int first = m.edges.first[i];
        const long stride = static_cast<long>(m.edges.num_centers) * rows;
        for (int type = 0; type < m.edges.ntypes; ++type) {
          const Run run = run_of(m, i, type);
          if (run.count == 0) continue;
          const Real *from = g + place_of(m, i, type);
          team_for(team, of_type, [=](int k) { own[k] = from[k / rows * stride + k % rows]; });
          for_lanes(team, (run.count + lanes - 1) / lanes, [=](int p) DPTRAIN_ALWAYS_INLINE {
            const int slot = run.first + p * lanes, left = run.count - p * lanes;
            const int n = left < lanes ? left : lanes;
            L edge[3];
            edge_gradient<l_max>(m, type, load_edge(m, slot, n), own, edge);
            for (int a = 0; a < 3; ++a) store_lanes<Real>(edge[a], n, d[a] + slot - first);
          });
        }
        add_forces(team, m.edges, i, first, m.edges.count[i], {d[0], d[1], d[2]}, sums, copy);
      });
}

}  // namespace

template <class Real> void moments_value(const Moments<Real> &m, Real *moments)
{
  with_l_max<most_l>(m.l_max,
                     [&](auto l) { moments_value_kernel<decltype(l)::value>(m, moments); });
}

template <class Real>
void moments_reverse(const Moments<Real> &m, const Real *g, const ForceSums &sums)
{
  with_l_max<most_l>(m.l_max,
                     [&](auto l) { moments_reverse_kernel<decltype(l)::value>(m, g, sums); });
}

template <class Real>
void moments_jvp(const Moments<Real> &m, const double *r, const double *strain, Real *moments_dot)
{
  with_l_max<most_l>(
      m.l_max, [&](auto l) { moments_jvp_kernel<decltype(l)::value>(m, r, strain, moments_dot); });
}

#define DPTRAIN_INSTANTIATE(Real)                                                        \
  template void moments_value(const Moments<Real> &, Real *);                            \
  template void moments_reverse(const Moments<Real> &, const Real *, const ForceSums &); \
  template void moments_jvp(const Moments<Real> &, const double *, const double *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
