#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/error.h"
#include "kernels/activation.h"
#include "kernels/runtime.h"

namespace dptrain::kernels {
namespace {

// Independent values: the definitions of DeePMD-kit written with the standard library.
double reference(const std::string &name, double x)
{
  if (name == "tanh") return std::tanh(x);
  if (name == "relu") return std::fmax(x, 0.0);
  if (name == "relu6") return std::fmin(std::fmax(x, 0.0), 6.0);
  if (name == "gelu" || name == "gelu_tf")
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
  if (name == "sigmoid") return 1.0 / (1.0 + std::exp(-x));
  if (name == "softplus") return std::log(1.0 + std::exp(x));
  if (name == "silu") return x / (1.0 + std::exp(-x));
  if (name == "silut:2.0") {
    if (x < 2.0) return x / (1.0 + std::exp(-x));
    const double s = 1.0 / (1.0 + std::exp(-2.0));
    return std::tanh((s + 2.0 * s * (1.0 - s)) * (x - 2.0)) + 2.0 * s;
  }
  return x;
}

class ActivationTest : public testing::TestWithParam<std::string> {};

TEST_P(ActivationTest, ValueAndDerivatives)
{
  ensure_runtime();
  const auto activation = Activation::from_name(GetParam());
  // points away from the kinks of relu (0), relu6 (0, 6) and silut (2)
  for (double x : {-3.1, -0.7, 0.3, 1.9, 2.2, 4.5, 6.5}) {
    const double h = 1e-5;
    double z[3] = {x - h, x, x + h}, f[4][3];
    double *const out[4] = {f[0], f[1], f[2], f[3]};
    activation_jet(activation, 3, 3, z, out);
    EXPECT_NEAR(f[0][1], reference(GetParam(), x), 1e-15 * (1.0 + std::abs(x)));
    // central differences: error h^2 f''' / 6 ~ 1e-10 plus rounding 1e-16 / h ~ 1e-11
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(f[k + 1][1], (f[k][2] - f[k][0]) / (2.0 * h), 1e-9) << x << " order " << k + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ActivationTest,
                         testing::Values("tanh", "relu", "relu6", "gelu", "gelu_tf", "sigmoid",
                                         "softplus", "silu", "silut:2.0", "linear", "none"));

TEST(Activation, UnknownNameIsRefusedWithTheAllowedOnes)
{
  try {
    Activation::from_name("swish2");
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("swish2"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("softplus"), std::string::npos);
  }
  EXPECT_THROW(Activation::from_name("silut:abc"), Error);
}

}  // namespace
}  // namespace dptrain::kernels
