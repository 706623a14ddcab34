#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/activation.h"
#include "kernels/fast_tanh.h"

// Activation functions with their derivatives, inside of kernels.

namespace dptrain::kernels {

/// Value and three derivatives of a function of one number.
template <class Real> struct Jet {
  Real f[4];
};

template <class Real> KOKKOS_FORCEINLINE_FUNCTION Jet<Real> tanh_jet(Real x)
{
  const Real t = fast_tanh(x), d = Real(1) - t * t;
  return {{t, d, Real(-2) * t * d, d * (Real(6) * t * t - Real(2))}};
}

template <class Real> KOKKOS_FORCEINLINE_FUNCTION Jet<Real> sigmoid_jet(Real x)
{
  const Real s = Real(1) / (Real(1) + std::exp(-x)), d = s * (Real(1) - s);
  return {{s, d, d * (Real(1) - Real(2) * s), d * (Real(1) - Real(6) * s + Real(6) * s * s)}};
}

template <class Real> KOKKOS_FORCEINLINE_FUNCTION Jet<Real> softplus_jet(Real x)
{
  const Jet<Real> s = sigmoid_jet(x);
  return {
      {(x > Real(0) ? x : Real(0)) + std::log1p(std::exp(-std::fabs(x))), s.f[0], s.f[1], s.f[2]}};
}

template <class Real> KOKKOS_FORCEINLINE_FUNCTION Jet<Real> silu_jet(Real x)
{
  const Jet<Real> s = sigmoid_jet(x);
  return {{x * s.f[0], s.f[0] + x * s.f[1], Real(2) * s.f[1] + x * s.f[2],
           Real(3) * s.f[2] + x * s.f[3]}};
}

// 0.5 x (1 + tanh(c (x + 0.044715 x^3))), c = sqrt(2/pi)
template <class Real> KOKKOS_FORCEINLINE_FUNCTION Jet<Real> gelu_jet(Real x)
{
  const Real c = Real(0.79788456080286535588), k = Real(0.044715) * c, half = Real(0.5);
  const Jet<Real> t = tanh_jet(c * x + k * x * x * x);
  const Real u1 = c + Real(3) * k * x * x, u2 = Real(6) * k * x, u3 = Real(6) * k;
  const Real g1 = t.f[1] * u1;
  const Real g2 = t.f[2] * u1 * u1 + t.f[1] * u2;
  const Real g3 = t.f[3] * u1 * u1 * u1 + Real(3) * t.f[2] * u1 * u2 + t.f[1] * u3;
  return {{half * x * (Real(1) + t.f[0]), half * (Real(1) + t.f[0]) + half * x * g1,
           g1 + half * x * g2, Real(1.5) * g2 + half * x * g3}};
}

template <class Real> KOKKOS_FORCEINLINE_FUNCTION Jet<Real> silut_jet(const Activation &a, Real x)
{
  const Real threshold = Real(a.threshold), s = Real(a.slope);
  if (x < threshold) return silu_jet(x);
  const Jet<Real> t = tanh_jet(s * (x - threshold));
  return {{t.f[0] + Real(a.constant), s * t.f[1], s * s * t.f[2], s * s * s * t.f[3]}};
}

template <class Real> KOKKOS_FORCEINLINE_FUNCTION Jet<Real> clipped_jet(Real x, Real upper)
{
  const bool inside = x > Real(0) && x < upper;
  return {
      {x < Real(0) ? Real(0) : (x > upper ? upper : x), Real(inside ? 1 : 0), Real(0), Real(0)}};
}

/// Of the activation at x; the kind is known at compile time, so that loops over columns are vector code.
template <class Real, ActivationKind kind>
KOKKOS_FORCEINLINE_FUNCTION Jet<Real> jet([[maybe_unused]] const Activation &a, Real x)
{
  if constexpr (kind == ActivationKind::tanh) return tanh_jet(x);
  if constexpr (kind == ActivationKind::relu) return clipped_jet(x, Real(HUGE_VAL));
  if constexpr (kind == ActivationKind::relu6) return clipped_jet(x, Real(6));
  if constexpr (kind == ActivationKind::gelu) return gelu_jet(x);
  if constexpr (kind == ActivationKind::sigmoid) return sigmoid_jet(x);
  if constexpr (kind == ActivationKind::softplus) return softplus_jet(x);
  if constexpr (kind == ActivationKind::silu) return silu_jet(x);
  if constexpr (kind == ActivationKind::silut) return silut_jet(a, x);
  return {{x, Real(1), Real(0), Real(0)}};
}

/// f(kind) with the kind as a constant of the compiler.
template <class F> void with_kind(ActivationKind kind, const F &f)
{
  using Kind = ActivationKind;
  const auto is = [&](auto constant) {
    if (kind != constant.value) return false;
    f(constant);
    return true;
  };
  const bool known = is(std::integral_constant<Kind, Kind::tanh>()) ||
                     is(std::integral_constant<Kind, Kind::relu>()) ||
                     is(std::integral_constant<Kind, Kind::relu6>()) ||
                     is(std::integral_constant<Kind, Kind::gelu>()) ||
                     is(std::integral_constant<Kind, Kind::sigmoid>()) ||
                     is(std::integral_constant<Kind, Kind::softplus>()) ||
                     is(std::integral_constant<Kind, Kind::silu>()) ||
                     is(std::integral_constant<Kind, Kind::silut>());
  if (!known) f(std::integral_constant<Kind, Kind::linear>());
}

}  // namespace dptrain::kernels
