#pragma once

#include "kernels/memory.h"

namespace dptrain::kernels {

// What a sweep has found, to arrays by atom that lie in the memory of the kernels, and sums of it. All arrays are there.

/// target[atoms[k]] = values[k] + shift for k in [0, n).
void set_of_atoms(const int *atoms, long n, const double *values, double shift, double *target);

/// The sum of values[0..n) on the host, in the same order in every run. Waits for the kernels. `parts`: memory to work in.
double sum_of_values(const double *values, long n, Array<double> &parts);

/// result [n] = scale times the distance of each row of z [n][columns], which has one for each atom, from the row `from`.
template <class Real>
void row_distances(int n, int columns, const Real *z, const Real *from, double scale,
                   double *result);

}  // namespace dptrain::kernels
