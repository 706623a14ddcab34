// Adam and AdamW against steps worked out by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "dptrain/parallel/communicator.h"
#include "optimizer/optimizer.h"
#include "support/scratch.h"
#include "support/steps_on_host.h"

namespace dptrain::test {

namespace {

std::vector<ParameterBlock> blocks()
{
  return {{"w", {2}, 0, 2, true}, {"frozen", {1}, 2, 1, false}, {"b", {1}, 3, 1, true}};
}

std::unique_ptr<Optimizer> make(const OptimizerConfig &config,
                                const std::vector<ParameterBlock> &index)
{
  return make_optimizer(config, index, make_mpi_communicator());
}

}  // namespace

TEST(Adam, FirstStepIsTheSignOfTheGradient)
{
  const auto adam = make({}, blocks());
  std::vector<double> x{1.0, 2.0, 3.0, 4.0};
  take_step(*adam, x, {0.5, -2.0, 7.0, 1e-8}, 0.01);
  // bias-corrected m = g and v = g^2: the step is lr g / (|g| + eps), with eps outside of the corrected root
  EXPECT_NEAR(x[0], 1.0 - 0.01 * 0.5 / (0.5 + 1e-8), 1e-15);
  EXPECT_NEAR(x[1], 2.0 + 0.01 * 2.0 / (2.0 + 1e-8), 1e-15);
  EXPECT_EQ(x[2], 3.0);
  EXPECT_NEAR(x[3], 4.0 - 0.01 * 0.5, 1e-15);
}

TEST(Adam, SecondStepByHand)
{
  const auto adam = make({}, {{"w", {1}, 0, 1, true}});
  std::vector<double> x{0.0};
  take_step(*adam, x, {1.0}, 0.1);
  take_step(*adam, x, {3.0}, 0.1);
  const double m = (0.9 * 0.1 * 1.0 + 0.1 * 3.0) / (1 - 0.81);
  const double v = (0.999 * 0.001 * 1.0 + 0.001 * 9.0) / (1 - 0.999 * 0.999);
  EXPECT_NEAR(x[0], -0.1 / (1 + 1e-8) - 0.1 * m / (std::sqrt(v) + 1e-8), 1e-13);
}

TEST(Adam, WeightDecayInTheGradientOrDecoupled)
{
  OptimizerConfig config;
  config.weight_decay = 0.5;
  std::vector<double> x{2.0};
  take_step(*make(config, {{"w", {1}, 0, 1, true}}), x, {-3.0}, 0.1);  // g + 0.5 x = -2
  EXPECT_NEAR(x[0], 2.0 + 0.1, 1e-8);
  config.type = OptimizerType::adamw;
  x = {2.0};
  take_step(*make(config, {{"w", {1}, 0, 1, true}}), x, {-3.0},
            0.1);  // x (1 - 0.05), then the step
  EXPECT_NEAR(x[0], 1.9 + 0.1, 1e-8);
}

TEST(Adam, ARestoredStateContinuesBitByBit)
{
  const auto gradient = [](int k) {
    return std::vector<double>{std::sin(k), std::cos(3.0 * k), 1.0, 1.0 / (k + 1)};
  };
  const auto one = make({}, blocks());
  std::vector<double> x{1, 2, 3, 4};
  for (int k = 0; k < 5; ++k) take_step(*one, x, gradient(k), 1e-2);
  const auto two = make({}, blocks());
  two->set_state(one->state());
  std::vector<double> y = x;
  for (int k = 5; k < 9; ++k) {
    take_step(*one, x, gradient(k), 1e-2);
    take_step(*two, y, gradient(k), 1e-2);
  }
  EXPECT_EQ(x, y);
}

// After n steps in float32: each change is rounded to 2^-24 of itself a few times, and so are the moments, whose older
// errors fade.
TEST(Adam, Float32FollowsFloat64)
{
  const auto gradient = [](int k) {
    return std::vector<double>{std::sin(k), 1e-6 * std::cos(3.0 * k), 1.0, 1e6 / (k + 1)};
  };
  constexpr int steps = 100;
  constexpr double lr = 1e-2;
  OptimizerConfig config;
  const auto exact = make(config, blocks());
  config.precision = "float32";
  const auto rounded = make(config, blocks());
  std::vector<double> x{1, 2, 3, 4}, y = x;
  double largest = 0.0;
  for (int k = 0; k < steps; ++k) {
    take_step(*exact, x, gradient(k), lr);
    take_step(*rounded, y, gradient(k), lr);
  }
  for (int i = 0; i < 4; ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  EXPECT_LT(largest, steps * lr * 1e-6);
  EXPECT_GT(largest, 0.0);
  EXPECT_EQ(y[2], 3.0);
  EXPECT_LT(rounded->memory_bytes(), exact->memory_bytes());
}

TEST(Adam, ForeignStateAndSettingsAreRefused)
{
  const auto adam = make({}, blocks());
  State other = adam->state();
  other.set("mean", std::vector<double>{1, 2, 3});
  expect_in("another model", message_of([&] { adam->set_state(other); }));
  OptimizerConfig config;
  config.beta2 = 1.0;
  expect_in("beta", message_of([&] { make(config, blocks()); }));
}

}  // namespace dptrain::test
