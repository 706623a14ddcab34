#pragma once

#include <cstdint>

#include "kernels/memory.h"

namespace dptrain::kernels {

// Arithmetic of long arrays in the memory of the kernels.

/// target[k] += values[k] for k in [0, n).
void add_values(const double *values, long n, double *target);
/// target[k] = values[k], of 8 bytes each.
void copy_words(const std::int64_t *values, long n, std::int64_t *target);
/// values[k] *= factor.
void scale_values(double factor, long n, double *values);
/// target[k] += fraction (values[k] - target[k]).
void move_toward(const double *values, double fraction, long n, double *target);
/// A part of an array.
struct Part {
  long begin, size;
};
/// sums[k] = the sum of the squares of part k.
void sums_of_squares(const double *values, const Part *parts, int n, double *sums);
/// The most parts that sum_of_squares makes of n numbers.
inline std::size_t most_parts(long n)
{
  constexpr long smallest = 4096;
  return static_cast<std::size_t>(n / smallest + 1);
}
/// The sum of the squares of values[0..n) on the host. Waits for the kernels. `parts`: memory to work in.
double sum_of_squares(const double *values, long n, Array<double> &parts);

}  // namespace dptrain::kernels
