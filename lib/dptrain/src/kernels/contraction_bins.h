#pragma once

#include "kernels/contraction.h"

namespace dptrain::kernels {

/// The binned form of `contraction_gradient`, for tables: what the edges of center i give to row k of the table is
/// sum_a q_iak g_t[i][a][:] + p_iak e_t[i][a][:], so matrix products over the centers replace atomic additions.
/// Fills q and p, [ntypes][n][4][net_size / width] and all zero before, for centers [begin, begin + n): one block for each
/// type of neighbor, hence for each embedding net of this center type.
template <class Real>
void contraction_bins(const Contraction<Real> &c, int begin, int n, const double *r,
                      const double *strain, Real *q, Real *p);

}  // namespace dptrain::kernels
