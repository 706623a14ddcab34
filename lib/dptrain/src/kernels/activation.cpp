#include "kernels/activation.h"

#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "kernels/activation_jets.h"

namespace dptrain::kernels {
namespace {

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
  with_kind(a.kind,
            [&](auto kind) { run_order<Real, kind.value>(a, rows, columns, order, z, bias, f); });
}

template void activation_jet(const Activation &, int, int, int, const double *, const double *,
                             double *const[4]);
template void activation_jet(const Activation &, int, int, int, const float *, const float *,
                             float *const[4]);

}  // namespace dptrain::kernels
