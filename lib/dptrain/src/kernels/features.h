#pragma once

namespace dptrain::kernels {

// What uncertainties need of a block of rows z [n][columns], one row for each atom.

/// norms [n] = Euclidean length of each row.
template <class Real> void row_norms(int n, int columns, const Real *z, double *norms);

/// Every row of z becomes `row` [columns].
template <class Real> void fill_rows(int n, int columns, const Real *row, Real *z);

}  // namespace dptrain::kernels
