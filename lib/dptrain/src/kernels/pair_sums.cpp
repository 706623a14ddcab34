#include "kernels/pair_sums.h"

#include "kernels/edge_forces.h"
#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

template <class Real>
void add_pair_forces(const Edges<Real> &edges, const PairSlopes &slopes, const Real *seeds,
                     const ForceSums &sums)
{
  const int column = edges.max_count;
  const std::size_t bytes = 3 * static_cast<std::size_t>(column) * sizeof(Real) + 64;
  launch_shared(
      "dptrain::pair_forces", edges.num_centers, sums.copies, bytes,
      KOKKOS_LAMBDA(const Team &team, int i, int copy, char *memory) {
        if (!slopes.inside[i]) return;
        const int first = edges.first[i], count = edges.count[i];
        const double seed = seeds ? seeds[i] : 1.0;
        Real *own = reinterpret_cast<Real *>(memory);
        Real *const g[3] = {own, own + column, own + 2 * column};
        team_for(team, count, [=](int e) DPTRAIN_ALWAYS_INLINE {
          const int slot = first + e;
          for (int a = 0; a < 3; ++a)
            g[a][e] = static_cast<Real>(seed * slopes.slope[slot] * edges.d[a][slot]);
        });
        add_forces(team, edges, i, first, count, {g[0], g[1], g[2]}, sums, copy);
      });
}

template void add_pair_forces(const Edges<double> &, const PairSlopes &, const double *,
                              const ForceSums &);
template void add_pair_forces(const Edges<float> &, const PairSlopes &, const float *,
                              const ForceSums &);

}  // namespace dptrain::kernels
