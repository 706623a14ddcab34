#include "kernels/activation.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "dptrain/error.h"
#include "kernels/kokkos_types.h"

namespace dptrain::kernels {
namespace {

// Value and three derivatives.
struct Jet {
  double f[4];
};

KOKKOS_INLINE_FUNCTION Jet tanh_jet(double x)
{
  const double t = tanh(x), d = 1.0 - t * t;
  return {{t, d, -2.0 * t * d, d * (6.0 * t * t - 2.0)}};
}

KOKKOS_INLINE_FUNCTION Jet sigmoid_jet(double x)
{
  const double s = 1.0 / (1.0 + exp(-x)), d = s * (1.0 - s);
  return {{s, d, d * (1.0 - 2.0 * s), d * (1.0 - 6.0 * s + 6.0 * s * s)}};
}

KOKKOS_INLINE_FUNCTION Jet softplus_jet(double x)
{
  const Jet s = sigmoid_jet(x);
  return {{(x > 0.0 ? x : 0.0) + log1p(exp(-fabs(x))), s.f[0], s.f[1], s.f[2]}};
}

KOKKOS_INLINE_FUNCTION Jet silu_jet(double x)
{
  const Jet s = sigmoid_jet(x);
  return {{x * s.f[0], s.f[0] + x * s.f[1], 2.0 * s.f[1] + x * s.f[2], 3.0 * s.f[2] + x * s.f[3]}};
}

// 0.5 x (1 + tanh(c (x + 0.044715 x^3))), c = sqrt(2/pi)
KOKKOS_INLINE_FUNCTION Jet gelu_jet(double x)
{
  const double c = 0.79788456080286535588, k = 0.044715 * c;
  const Jet t = tanh_jet(c * x + k * x * x * x);
  const double u1 = c + 3.0 * k * x * x, u2 = 6.0 * k * x, u3 = 6.0 * k;
  const double g1 = t.f[1] * u1;
  const double g2 = t.f[2] * u1 * u1 + t.f[1] * u2;
  const double g3 = t.f[3] * u1 * u1 * u1 + 3.0 * t.f[2] * u1 * u2 + t.f[1] * u3;
  return {{0.5 * x * (1.0 + t.f[0]), 0.5 * (1.0 + t.f[0]) + 0.5 * x * g1, g1 + 0.5 * x * g2,
           1.5 * g2 + 0.5 * x * g3}};
}

KOKKOS_INLINE_FUNCTION Jet silut_jet(const Activation &a, double x)
{
  if (x < a.threshold) return silu_jet(x);
  const Jet t = tanh_jet(a.slope * (x - a.threshold));
  const double s = a.slope;
  return {{t.f[0] + a.constant, s * t.f[1], s * s * t.f[2], s * s * s * t.f[3]}};
}

KOKKOS_INLINE_FUNCTION Jet clipped_jet(double x, double upper)
{
  const bool inside = x > 0.0 && x < upper;
  return {{x < 0.0 ? 0.0 : (x > upper ? upper : x), inside ? 1.0 : 0.0, 0.0, 0.0}};
}

KOKKOS_INLINE_FUNCTION Jet jet(const Activation &a, double x)
{
  switch (a.kind) {
  case ActivationKind::tanh:
    return tanh_jet(x);
  case ActivationKind::relu:
    return clipped_jet(x, HUGE_VAL);
  case ActivationKind::relu6:
    return clipped_jet(x, 6.0);
  case ActivationKind::gelu:
    return gelu_jet(x);
  case ActivationKind::sigmoid:
    return sigmoid_jet(x);
  case ActivationKind::softplus:
    return softplus_jet(x);
  case ActivationKind::silu:
    return silu_jet(x);
  case ActivationKind::silut:
    return silut_jet(a, x);
  default:
    return {{x, 1.0, 0.0, 0.0}};
  }
}

double threshold_of(const std::string &name)
{
  const auto colon = name.find(':');
  if (colon == std::string::npos) return 3.0;
  char *end = nullptr;
  const std::string text = name.substr(colon + 1);
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end)
    throw Error("activation function '" + name + "': the threshold after ':' is not a number");
  return value;
}

}  // namespace

Activation Activation::from_name(const std::string &given)
{
  std::string name = given;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const std::string base = name.substr(0, name.find(':'));
  Activation a;
  if (base == "silut" || base == "custom_silu") {
    a.kind = ActivationKind::silut;
    a.threshold = threshold_of(name);
    const Jet at = silu_jet(a.threshold);
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
      "activation function '" + given +
      "' is not known; allowed are tanh, relu, relu6, gelu, gelu_tf, sigmoid, softplus, silu, "
      "silut:T, custom_silu:T, linear, none");
}

bool Activation::smooth() const
{
  return kind != ActivationKind::relu && kind != ActivationKind::relu6 &&
         kind != ActivationKind::silut;
}

void activation_jet(const Activation &activation, long n, int order, const double *z,
                    double *const f[4])
{
  double *f0 = f[0], *f1 = f[1], *f2 = f[2], *f3 = f[3];
  Kokkos::parallel_for(
      "dptrain::activation_jet", RangePolicy(0, n), KOKKOS_LAMBDA(const long k) {
        const Jet value = jet(activation, z[k]);
        f0[k] = value.f[0];
        if (order > 0) f1[k] = value.f[1];
        if (order > 1) f2[k] = value.f[2];
        if (order > 2) f3[k] = value.f[3];
      });
}

}  // namespace dptrain::kernels
