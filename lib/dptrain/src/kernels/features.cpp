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

template void row_norms(int, int, const double *, double *);
template void row_norms(int, int, const float *, double *);

}  // namespace dptrain::kernels
