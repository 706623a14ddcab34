// Which frames the batches of an active training draw.

#include "data/replay_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "dptrain/base/error.h"
#include "dptrain/base/state.h"

namespace dptrain::test {
namespace {

constexpr int DRAWS = 20000;

// Frequencies of DRAWS draws of one frame each.
std::vector<double> frequencies(ReplayWeights &weights, int frames)
{
  std::vector<double> count(frames, 0.0);
  for (int k = 0; k < DRAWS; ++k) count[weights.draw(1).front()] += 1.0 / DRAWS;
  return count;
}

// Five standard errors of a frequency.
double error_of(double p)
{
  return 5.0 * std::sqrt(p * (1.0 - p) / DRAWS);
}

TEST(ReplayWeights, HardAndLateFramesComeMoreOften)
{
  ReplayWeights weights(7);
  for (int k = 0; k < 10; ++k) weights.add(k);
  // mean error 1: weights 0.5, 1.5 within the limits; 6..9 are the latest four
  for (int k = 0; k < 10; ++k) weights.set_error(k, k % 2 ? 1.5 : 0.5);
  const std::vector<double> f = frequencies(weights, 10);
  for (int k = 0; k < 10; ++k) {
    const double p = 0.75 * (k % 2 ? 0.15 : 0.05) + (k >= 6 ? 0.25 / 4 : 0.0);
    EXPECT_NEAR(f[k], p, error_of(p)) << k;
  }
}

TEST(ReplayWeights, NoFrameIsForgottenOrDominates)
{
  ReplayWeights weights(7);
  for (int k = 0; k < 8; ++k) weights.add(k);
  for (int k = 0; k < 8; ++k) weights.set_error(k, k == 0 ? 1e6 : 1e-6);
  const double total = 3.0 + 7.0 / 3.0;
  const std::vector<double> f = frequencies(weights, 8);
  EXPECT_NEAR(f[0], 0.75 * 3.0 / total, error_of(0.4));
  EXPECT_NEAR(f[1], 0.75 / 3.0 / total, error_of(0.05));
}

TEST(ReplayWeights, AFrameWithoutErrorCountsLikeAHardOne)
{
  ReplayWeights weights(7);
  for (int k = 0; k < 6; ++k) weights.add(k);
  for (int k = 1; k < 6; ++k) weights.set_error(k, 1.0);
  weights.set_error(2, std::nan(""));
  const std::vector<double> f = frequencies(weights, 6);
  EXPECT_NEAR(f[0], 0.75 * 3.0 / 10.0, error_of(0.2));  // 0 and 2 weigh 3, the others 1
  EXPECT_NEAR(f[1], 0.75 / 10.0, error_of(0.075));
}

TEST(ReplayWeights, ABatchHasNoFrameTwice)
{
  ReplayWeights weights(1);
  for (int k = 0; k < 5; ++k) weights.add(k);
  for (int k = 0; k < 100; ++k) {
    const auto batch = weights.draw(3);
    EXPECT_EQ(std::set<std::int64_t>(batch.begin(), batch.end()).size(), 3u);
  }
  EXPECT_EQ(weights.draw(9).size(), 5u);
}

TEST(ReplayWeights, AStateGoesOnTheSame)
{
  ReplayWeights weights(5), copy(5);
  for (int k = 0; k < 9; ++k) weights.add(k);
  weights.set_error(3, 0.1);
  weights.draw(4);
  state_of(weights).read(copy);
  for (int k = 0; k < 50; ++k) EXPECT_EQ(weights.draw(2), copy.draw(2));
  EXPECT_EQ(state_of(weights), state_of(copy));
}

TEST(ReplayWeights, Errors)
{
  ReplayWeights weights(5);
  EXPECT_THROW(weights.draw(1), Error);
  weights.add(0);
  const State state = state_of(weights);
  EXPECT_THROW(State().read(weights), Error);
  for (const std::vector<double> &latest :
       {std::vector<double>{1.0}, {-1.0}, {NAN}, {0.0, 0.0, 0.0, 0.0, 0.0}}) {
    State damaged = state;
    damaged.set("latest", latest);
    EXPECT_THROW(damaged.read(weights), Error);
  }
  EXPECT_EQ(state_of(weights), state);
}

}  // namespace
}  // namespace dptrain::test
