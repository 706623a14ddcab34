#pragma once

namespace dptrain::kernels {

// What uncertainties need of a block of rows z [n][columns], one row for each atom.

/// norms [n] = Euclidean length of each row.
template <class Real> void row_norms(int n, int columns, const Real *z, double *norms);

}  // namespace dptrain::kernels
