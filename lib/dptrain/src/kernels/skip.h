#pragma once

#include "kernels/kokkos_types.h"
#include "kernels/layer.h"

namespace dptrain::kernels {

/// y += x through the skip connection of a layer, row i.
template <class Real>
KOKKOS_FORCEINLINE_FUNCTION void add_skip(const Team &team, const LayerShape<Real> &s, long i,
                                          const Real *x, Real *y)
{
  for (int copy = 0; copy < s.skip; ++copy) {
    const Real *source = x + i * s.in;
    Real *target = y + i * s.out + static_cast<long>(copy) * s.in;
    team_for(team, s.in, [=](int m) DPTRAIN_ALWAYS_INLINE { target[m] += source[m]; });
  }
}

}  // namespace dptrain::kernels
