#include "kernels/atom_values.h"

#include <numeric>

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

constexpr long block = 1024;  // numbers that one index adds up

}  // namespace

void set_of_atoms(const int *atoms, long n, const double *values, double shift, double *target)
{
  launch(
      "dptrain::set_of_atoms", RangePolicy(0, n),
      KOKKOS_LAMBDA(const long k) { target[atoms[k]] = values[k] + shift; });
}

double sum_of_values(const double *values, long n, Array<double> &sums)
{
  // strided, so that neighboring threads read neighboring numbers
  const long parts = (n + block - 1) / block;
  double *sum = sums.resize(parts);
  launch(
      "dptrain::sum_of_values", RangePolicy(0, parts), KOKKOS_LAMBDA(const long part) {
        double own = 0.0;
        for (long k = part; k < n; k += parts) own += values[k];
        sum[part] = own;
      });
  const std::vector<double> host = sums.to_host();
  return std::accumulate(host.begin(), host.end(), 0.0);
}

template <class Real>
void row_distances(int n, int columns, const Real *z, const Real *from, double scale,
                   double *result)
{
  launch(
      "dptrain::row_distances", RangePolicy(0, n), KOKKOS_LAMBDA(const int i) {
        const Real *row = z + static_cast<long>(i) * columns;
        Real sum = 0;
        _Pragma("omp simd reduction(+ : sum)") for (int m = 0; m < columns; ++m) sum +=
            (row[m] - from[m]) * (row[m] - from[m]);
        result[i] = scale * sqrt(static_cast<double>(sum));
      });
}

template void row_distances(int, int, const double *, const double *, double, double *);
template void row_distances(int, int, const float *, const float *, double, double *);

}  // namespace dptrain::kernels
