#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/base/error.h"
#include "kernels/activation.h"
#include "support/kernel_data.h"

namespace dptrain::test {
namespace {

using kernels::Activation;

/// Derivatives 0..order at z + bias, [order + 1][z.size()].
template <class Real>
std::vector<Vec> jet(const Activation &activation, int columns, int order, const Vec &z,
                     const Vec &bias = {})
{
  const auto input = in_kernels<Real>(z), offset = in_kernels<Real>(bias);
  kernels::Array<Real> f[4];
  for (int k = 0; k <= order; ++k) f[k] = zeros<Real>(z.size());
  Real *const out[4] = {f[0].data(), f[1].data(), f[2].data(), f[3].data()};
  kernels::activation_jet(activation, static_cast<int>(z.size()) / columns, columns, order,
                          input.data(), bias.empty() ? nullptr : offset.data(), out);
  std::vector<Vec> all;
  for (int k = 0; k <= order; ++k) all.push_back(to_host(f[k]));
  return all;
}

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
  const auto activation = Activation::from_name(GetParam());
  // points away from the kinks of relu (0), relu6 (0, 6) and silut (2)
  for (double x : {-3.1, -0.7, 0.3, 1.9, 2.2, 4.5, 6.5}) {
    const double h = 1e-5;
    const auto f = jet<double>(activation, 3, 3, {x - h, x, x + h});
    // a few units in the last place
    EXPECT_NEAR(f[0][1], reference(GetParam(), x), 1e-15 * (1.0 + std::abs(x)));
    // central differences: error h^2 f''' / 6 ~ 1e-10 plus rounding 1e-16 / h ~ 1e-11
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(f[k + 1][1], (f[k][2] - f[k][0]) / (2.0 * h), 1e-9) << x << " order " << k + 1;
  }
}

TEST_P(ActivationTest, Float32IsCloseToFloat64)
{
  const auto activation = Activation::from_name(GetParam());
  RandomEngine engine(1);
  Vec z = random_vector(300, engine);
  for (double &x : z) x = 3.0f * static_cast<float>(x);
  const auto wide = jet<double>(activation, 60, 3, z), narrow = jet<float>(activation, 60, 3, z);
  // 1 - tanh^2 is a difference of numbers of order one, which the
  // derivatives of gelu multiply by polynomials of z: 1.4e-5 and 8e-5 found, all others below 1e-6
  const double tolerance[4] = {1e-6, 2e-6, 2e-5, 2e-4};
  for (int k = 0; k <= 3; ++k) expect_close(narrow[k], wide[k], tolerance[k], "order");
}

TEST_P(ActivationTest, BiasIsAddedByColumnAndOrdersAgree)
{
  const auto activation = Activation::from_name(GetParam());
  RandomEngine engine(4);
  constexpr int columns = 13;  // not a multiple of a vector
  const Vec z = random_vector(7 * columns, engine), bias = random_vector(columns, engine);
  Vec sum = z;
  for (std::size_t k = 0; k < z.size(); ++k) sum[k] += bias[k % columns];
  const auto expected = jet<double>(activation, columns, 3, sum);
  for (int order = 0; order <= 3; ++order) {
    const auto found = jet<double>(activation, columns, order, z, bias);
    for (int k = 0; k <= order; ++k) expect_close(found[k], expected[k], 1e-15);
  }
}

// The value may take the place of z.
TEST(Activation, InPlace)
{
  const auto tanh = Activation::from_name("tanh");
  RandomEngine engine(4);
  const Vec z = random_vector(33, engine);
  const auto expected = jet<double>(tanh, 11, 2, z);
  auto f0 = in_kernels<double>(z), f1 = zeros<double>(33), f2 = zeros<double>(33);
  double *const f[4] = {f0.data(), f1.data(), f2.data(), nullptr};
  kernels::activation_jet<double>(tanh, 3, 11, 2, f0.data(), nullptr, f);
  EXPECT_EQ(to_host(f0), expected[0]);
  EXPECT_EQ(to_host(f1), expected[1]);
  EXPECT_EQ(to_host(f2), expected[2]);
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
}  // namespace dptrain::test
