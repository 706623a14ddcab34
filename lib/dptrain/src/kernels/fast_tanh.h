#pragma once

#include <cstdint>

#include <cmath>

#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

namespace detail {

// 2^n of a whole number n inside the normal range, from its bits.
KOKKOS_FORCEINLINE_FUNCTION double power_of_two(double n)
{
  const std::int64_t bits = (static_cast<std::int64_t>(n) + 1023) << 52;
  double result;
  __builtin_memcpy(&result, &bits, sizeof(result));
  return result;
}
KOKKOS_FORCEINLINE_FUNCTION float power_of_two(float n)
{
  const std::int32_t bits = (static_cast<std::int32_t>(n) + 127) << 23;
  float result;
  __builtin_memcpy(&result, &bits, sizeof(result));
  return result;
}

// (exp(f) - 1 - f) / f^2 for |f| <= ln(2)/2: Taylor series, truncated below the rounding.
KOKKOS_FORCEINLINE_FUNCTION double expm1_tail(double f)
{
  double p = 1.0 / 87178291200.0;
  p = p * f + 1.0 / 6227020800.0;
  p = p * f + 1.0 / 479001600.0;
  p = p * f + 1.0 / 39916800.0;
  p = p * f + 1.0 / 3628800.0;
  p = p * f + 1.0 / 362880.0;
  p = p * f + 1.0 / 40320.0;
  p = p * f + 1.0 / 5040.0;
  p = p * f + 1.0 / 720.0;
  p = p * f + 1.0 / 120.0;
  p = p * f + 1.0 / 24.0;
  p = p * f + 1.0 / 6.0;
  return p * f + 0.5;
}
KOKKOS_FORCEINLINE_FUNCTION float expm1_tail(float f)
{
  float p = 1.0f / 40320.0f;
  p = p * f + 1.0f / 5040.0f;
  p = p * f + 1.0f / 720.0f;
  p = p * f + 1.0f / 120.0f;
  p = p * f + 1.0f / 24.0f;
  p = p * f + 1.0f / 6.0f;
  return p * f + 0.5f;
}

}  // namespace detail

/// tanh without branches, so that loops of it become vector code: tanh |x| = -m / (m + 2), m = exp(-2 |x|) - 1 by
/// reduction to |f| <= ln(2)/2. Relative error a few units in the last place, also near zero.
template <class Real> KOKKOS_FORCEINLINE_FUNCTION Real fast_tanh(Real x)
{
  const Real size = std::fabs(x), limited = size < Real(20) ? size : Real(20);
  const Real y = Real(-2) * limited;
  // ln 2 in two parts: n times the first is exact
  constexpr Real high = sizeof(Real) == 8 ? Real(0.693147180369123816490) : Real(0.693359375);
  constexpr Real low = sizeof(Real) == 8 ? Real(1.90821492927058770002e-10) : Real(-2.12194440e-4);
  const Real n = std::rint(y * Real(1.4426950408889634));
  const Real f = (y - n * high) - n * low;
  const Real reduced = f + f * f * detail::expm1_tail(f);
  const Real power = detail::power_of_two(n);
  const Real m = power * reduced + (power - Real(1));
  const Real t = -m / (m + Real(2));
  // NaN must stay NaN: the comparison above has replaced it
  return size == size ? std::copysign(t, x) : x;
}

}  // namespace dptrain::kernels
