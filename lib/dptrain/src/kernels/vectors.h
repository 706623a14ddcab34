#pragma once

#include "kernels/memory.h"

namespace dptrain::kernels {

// Arithmetic of long arrays in the memory of the kernels.

/// target[k] += values[k] for k in [0, n).
void add_values(const double *values, long n, double *target);
/// values[k] *= factor.
void scale_values(double factor, long n, double *values);
/// target[k] += fraction (values[k] - target[k]).
void move_toward(const double *values, double fraction, long n, double *target);
/// The sum of the squares of values[0..n) on the host. Waits for the kernels. `parts`: memory to work in.
double sum_of_squares(const double *values, long n, Array<double> &parts);

}  // namespace dptrain::kernels
