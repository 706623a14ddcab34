#pragma once

#include <type_traits>

#include "kernels/lanes.h"

namespace dptrain::kernels {

/// sin(x) and cos(x) of 0 <= x <= pi, by y = x - pi / 2: Taylor series to the last digit of the precision.
template <class Real, class L>
KOKKOS_FORCEINLINE_FUNCTION void sine_and_cosine(L y, L &sine, L &cosine)
{
  constexpr int terms = std::is_same_v<Real, double> ? 10 : 6;
  const L zero = {}, one = zero + Real(1), y2 = y * y;
  sine = cosine = one;
  for (int n = terms; n > 0; --n) {
    sine = one - sine * y2 * (Real(1) / Real(2 * n * (2 * n - 1)));
    cosine = one - cosine * y2 * (Real(1) / Real(2 * n * (2 * n + 1)));
  }
  cosine = -y * cosine;
}

}  // namespace dptrain::kernels
