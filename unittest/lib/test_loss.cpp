// Terms of the loss against their definition, derivatives against finite differences.

#include "training/loss.h"

#include <gtest/gtest.h>

#include <vector>

namespace dptrain::test {

namespace {

// Central differences of a quadratic are exact but for rounding.
constexpr double STEP = 1e-4, TOLERANCE = 1e-9;

}  // namespace

TEST(Loss, PrefactorsFollowTheLearningRate)
{
  LossConfig config;
  config.start_pref_v = 0.5;  // limit 0: off
  const Prefactors first = prefactors_at(config, 1e-3, 1e-3),
                   last = prefactors_at(config, 0.0, 1e-3),
                   half = prefactors_at(config, 5e-4, 1e-3);
  EXPECT_NEAR(first.energy, 0.02, 1e-15);  // limit + (start - limit) rounds
  EXPECT_DOUBLE_EQ(first.force, 1000.0);
  EXPECT_DOUBLE_EQ(last.energy, 1.0);
  EXPECT_DOUBLE_EQ(last.force, 1.0);
  EXPECT_DOUBLE_EQ(half.energy, 0.51);
  EXPECT_DOUBLE_EQ(half.force, 500.5);
  EXPECT_EQ(first.virial, 0.0);
  EXPECT_EQ(half.virial, 0.0);
}

TEST(Loss, EnergyTerm)
{
  double derivative = 0.0, unused = 0.0;
  EXPECT_DOUBLE_EQ(energy_term(3.0, 7, 0.4, derivative), 3.0 * 0.16 / 7.0);
  const double difference =
      (energy_term(3.0, 7, 0.4 + STEP, unused) - energy_term(3.0, 7, 0.4 - STEP, unused)) /
      (2 * STEP);
  EXPECT_NEAR(derivative, difference, TOLERANCE);
}

TEST(Loss, VirialTerm)
{
  std::array<double, 9> error{0.1, -0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9}, derivative, unused;
  EXPECT_DOUBLE_EQ(virial_term(2.0, 5, error, derivative), 2.0 * 2.85 / 9.0 / 5.0);
  for (int k = 0; k < 9; ++k) {
    auto up = error, down = error;
    up[k] += STEP;
    down[k] -= STEP;
    EXPECT_NEAR(derivative[k],
                (virial_term(2.0, 5, up, unused) - virial_term(2.0, 5, down, unused)) / (2 * STEP),
                TOLERANCE);
  }
}

TEST(Loss, ForceTerm)
{
  const std::vector<double> label{1, 2, 3, 4, 5, 6}, force{1.5, 2, 2, 4, 5.25, 6};
  const auto value = [&](std::vector<double> f) {
    double squares = 0.0;
    return force_term(10.0, 4, 6, label.data(), f.data(), squares);
  };
  double squares = 0.0;
  std::vector<double> residual = force;
  // 2 of the 4 atoms are here; the mean is over all 12 components
  EXPECT_DOUBLE_EQ(force_term(10.0, 4, 6, label.data(), residual.data(), squares),
                   10.0 * 1.3125 / 12.0);
  EXPECT_DOUBLE_EQ(squares, 1.3125);
  for (int k = 0; k < 6; ++k) {
    auto up = force, down = force;
    up[k] += STEP;
    down[k] -= STEP;
    EXPECT_NEAR(residual[k], (value(up) - value(down)) / (2 * STEP), TOLERANCE);
  }
}

}  // namespace dptrain::test
