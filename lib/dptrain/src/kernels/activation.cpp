#include "kernels/activation.h"

#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "kernels/fast_tanh.h"

namespace dptrain::kernels {
namespace {

// Value and three derivatives.
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

// One kind and order at compile time: the loop over columns is vector code.
template <class Real, ActivationKind kind, int order>
void run(const Activation &activation, int rows, int columns, const Real *z, const Real *bias,
         Real *const f[4])
{
  Real *f0 = f[0], *f1 = f[1], *f2 = f[2], *f3 = f[3];
  launch(
      "dptrain::activation_jet", one_team_each(rows), KOKKOS_LAMBDA(const Team &team) {
        const long row = static_cast<long>(team.league_rank()) * columns;
        team_for(team, columns, [=](int m) DPTRAIN_ALWAYS_INLINE {
          const Jet<Real> value =
              jet<Real, kind>(activation, bias ? z[row + m] + bias[m] : z[row + m]);
          f0[row + m] = value.f[0];
          if (order > 0) f1[row + m] = value.f[1];
          if (order > 1) f2[row + m] = value.f[2];
          if (order > 2) f3[row + m] = value.f[3];
        });
      });
}

template <class Real, ActivationKind kind>
void run_order(const Activation &a, int rows, int columns, int order, const Real *z,
               const Real *bias, Real *const f[4])
{
  if (order == 0) return run<Real, kind, 0>(a, rows, columns, z, bias, f);
  if (order == 1) return run<Real, kind, 1>(a, rows, columns, z, bias, f);
  if (order == 2) return run<Real, kind, 2>(a, rows, columns, z, bias, f);
  run<Real, kind, 3>(a, rows, columns, z, bias, f);
}

double threshold_of(const std::string &name)
{
  const auto colon = name.find(':');
  if (colon == std::string::npos) return 3.0;
  char *end = nullptr;
  const std::string text = name.substr(colon + 1);
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end)
    throw Error(
        fmt::format("activation function '{}': the threshold after ':' must be a number", name));
  return value;
}

}  // namespace

Activation Activation::from_name(const std::string &given)
{
  const std::string name = lower(given);
  const std::string base = name.substr(0, name.find(':'));
  Activation a;
  if (base == "silut" || base == "custom_silu") {
    a.kind = ActivationKind::silut;
    a.threshold = threshold_of(name);
    const Jet<double> at = silu_jet(a.threshold);
    a.constant = at.f[0];
    a.slope = at.f[1];
    return a;
  }
  const struct {
    const char *name;
    ActivationKind kind;
  } known[] = {{"none", ActivationKind::linear},       {"linear", ActivationKind::linear},
               {"tanh", ActivationKind::tanh},         {"relu", ActivationKind::relu},
               {"relu6", ActivationKind::relu6},       {"gelu", ActivationKind::gelu},
               {"gelu_tf", ActivationKind::gelu},      {"sigmoid", ActivationKind::sigmoid},
               {"softplus", ActivationKind::softplus}, {"silu", ActivationKind::silu}};
  for (const auto &k : known)
    if (name == k.name) {
      a.kind = k.kind;
      return a;
    }
  throw Error(
      fmt::format("activation function '{}' is not known; allowed are tanh, relu, relu6, gelu, "
                  "gelu_tf, sigmoid, softplus, silu, silut:T, custom_silu:T, linear, none",
                  given));
}

bool Activation::smooth() const
{
  return kind != ActivationKind::relu && kind != ActivationKind::relu6 &&
         kind != ActivationKind::silut;
}

template <class Real>
void activation_jet(const Activation &a, int rows, int columns, int order, const Real *z,
                    const Real *bias, Real *const f[4])
{
  using Kind = ActivationKind;
  switch (a.kind) {
  case Kind::tanh:
    return run_order<Real, Kind::tanh>(a, rows, columns, order, z, bias, f);
  case Kind::relu:
    return run_order<Real, Kind::relu>(a, rows, columns, order, z, bias, f);
  case Kind::relu6:
    return run_order<Real, Kind::relu6>(a, rows, columns, order, z, bias, f);
  case Kind::gelu:
    return run_order<Real, Kind::gelu>(a, rows, columns, order, z, bias, f);
  case Kind::sigmoid:
    return run_order<Real, Kind::sigmoid>(a, rows, columns, order, z, bias, f);
  case Kind::softplus:
    return run_order<Real, Kind::softplus>(a, rows, columns, order, z, bias, f);
  case Kind::silu:
    return run_order<Real, Kind::silu>(a, rows, columns, order, z, bias, f);
  case Kind::silut:
    return run_order<Real, Kind::silut>(a, rows, columns, order, z, bias, f);
  default:
    return run_order<Real, Kind::linear>(a, rows, columns, order, z, bias, f);
  }
}

template void activation_jet(const Activation &, int, int, int, const double *, const double *,
                             double *const[4]);
template void activation_jet(const Activation &, int, int, int, const float *, const float *,
                             float *const[4]);

}  // namespace dptrain::kernels
