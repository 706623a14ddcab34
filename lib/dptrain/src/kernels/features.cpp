#include "kernels/features.h"

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

template <class Real> void row_norms(int n, int columns, const Real *z, double *norms)
{
  launch(
      "dptrain::row_norms", RangePolicy(0, n), KOKKOS_LAMBDA(const int i) {
        const Real *row = z + static_cast<long>(i) * columns;
        Real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (int m = 0; m < columns; ++m) sum +=
            row[m] * row[m];
        norms[i] = sqrt(static_cast<double>(sum));
      });
}

template <class Real> void fill_rows(int n, int columns, const Real *row, Real *z)
{
  launch(
      "dptrain::fill_rows", one_team_each(n), KOKKOS_LAMBDA(const Team &team) {
        Real *target = z + static_cast<long>(team.league_rank()) * columns;
        team_for(team, columns, [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] = row[m]; });
      });
}

#define DPTRAIN_INSTANTIATE(Real)                            \
  template void row_norms(int, int, const Real *, double *); \
  template void fill_rows(int, int, const Real *, Real *);
DPTRAIN_INSTANTIATE(double)
DPTRAIN_INSTANTIATE(float)
#undef DPTRAIN_INSTANTIATE

}  // namespace dptrain::kernels
