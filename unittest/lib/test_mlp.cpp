#include <gtest/gtest.h>

#include <cmath>

#include "potential/nets/mlp.h"
#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

// 2 -> 4 (doubled skip, idt) -> 4 (skip, idt) -> 1 (linear)
struct Net {
  Mlp mlp;
  Vec parameters;
  Net()
  {
    ensure_runtime();
    std::vector<Layer> layers(3);
    const auto tanh = kernels::Activation::from_name("tanh"),
               gelu = kernels::Activation::from_name("gelu");
    layers[0] = {2, 4, tanh, true, 2, 0, 8, 12};
    layers[1] = {4, 4, gelu, true, 1, 16, 32, 36};
    layers[2] = {4, 1, kernels::Activation::from_name("linear"), false, 0, 40, 44, 0};
    RandomEngine engine(3);
    parameters = random_vector(45, engine);
    mlp = Mlp(layers);
  }
  // Outputs of one pass for these parameters.
  Vec forward(const Vec &values, int n, int order, const Vec &x, MlpWorkspace &ws) const
  {
    mlp.forward(in_kernels<double>(values).data(), n, order, in_kernels<double>(x).data(), ws);
    return to_host(ws.y);
  }
  double layer_by_hand(const Vec &p, const double *in) const
  {
    double h1[4], h2[4], out = p[44];
    for (int m = 0; m < 4; ++m)
      h1[m] = p[12 + m] * std::tanh(in[0] * p[m] + in[1] * p[4 + m] + p[8 + m]) + in[m % 2];
    for (int m = 0; m < 4; ++m) {
      double z = p[32 + m];
      for (int k = 0; k < 4; ++k) z += h1[k] * p[16 + 4 * k + m];
      const double gelu =
          0.5 * z * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (z + 0.044715 * z * z * z)));
      h2[m] = p[36 + m] * gelu + h1[m];
    }
    for (int k = 0; k < 4; ++k) out += h2[k] * p[40 + k];
    return out;
  }
};

TEST(Mlp, ValueByHand)
{
  Net net;
  MlpWorkspace ws;
  const Vec x{0.3, -0.8, 1.2, 0.4};
  const Vec y = net.forward(net.parameters, 2, 0, x, ws);
  for (int i = 0; i < 2; ++i)
    EXPECT_NEAR(y[i], net.layer_by_hand(net.parameters, &x[2 * i]), 1e-14);
}

// Jets along a direction against differences of the hand-written net.
TEST(Mlp, JetsAreDirectionalDerivatives)
{
  Net net;
  MlpWorkspace ws;
  const Vec x{0.3, -0.8}, v{0.7, -0.2};
  const Vec input{x[0], x[1], v[0], v[1], 0.0, 0.0};
  const Vec y = net.forward(net.parameters, 1, 2, input, ws);
  const auto at = [&](double h) {
    const double p[2] = {x[0] + h * v[0], x[1] + h * v[1]};
    return net.layer_by_hand(net.parameters, p);
  };
  const double h = 1e-3;
  // five-point formulas: errors h^4 ~ 1e-12 times derivatives of order one, rounding 1e-16/h^2 = 1e-10
  EXPECT_NEAR(y[1], (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h), 1e-10);
  EXPECT_NEAR(y[2],
              (16.0 * (at(h) + at(-h)) - (at(2 * h) + at(-2 * h)) - 30.0 * at(0)) / (12.0 * h * h),
              1e-8);
}

TEST(Mlp, ReverseAgreesWithDifferencesForEveryOrder)
{
  Net net;
  RandomEngine engine(9);
  for (int order = 0; order <= 2; ++order) {
    const int n = 3;
    MlpWorkspace ws;
    const Vec x = random_vector((order + 1) * n * 2, engine);
    const Vec g_y = random_vector((order + 1) * n, engine);
    Vec parameters = net.parameters;
    const auto scalar = [&] {
      MlpWorkspace w;
      return dot(g_y, net.forward(parameters, n, order, x, w));
    };
    net.forward(parameters, n, order, x, ws);
    auto sums = zeros<double>(45);
    net.mlp.reverse(in_kernels<double>(parameters).data(), n, order, in_kernels<double>(g_y).data(),
                    ws, sums.data());
    const Vec gradient = to_host(sums);
    const double h = 1e-5;
    const auto difference = [&](std::size_t k) {
      const double keep = parameters[k];
      parameters[k] = keep + h;
      const double plus = scalar();
      parameters[k] = keep - h;
      const double minus = scalar();
      parameters[k] = keep;
      return (plus - minus) / (2.0 * h);
    };
    // central differences: h^2 = 1e-10 times third derivatives of order ten
    for (std::size_t k = 0; k < parameters.size(); ++k)
      EXPECT_NEAR(gradient[k], difference(k), 2e-8 * (1.0 + std::abs(gradient[k])))
          << "order " << order << " parameter " << k;
  }
}

}  // namespace
}  // namespace dptrain::test
