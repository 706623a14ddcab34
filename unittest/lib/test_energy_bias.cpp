// Least squares of frame energies on atom counts.

#include <gtest/gtest.h>

#include <limits>

#include "dptrain/statistics/statistics.h"
#include "support/scratch.h"

namespace dptrain::test {

TEST(EnergyBias, ExactWhereTheCountsTellTheTypesApart)
{
  // three types, four compositions, energies made of known constants
  const std::vector<double> counts{2, 1, 0, 1, 3, 2, 0, 1, 4, 5, 5, 1}, known{-3.5, 120.0, 0.25};
  std::vector<double> energies;
  for (int f = 0; f < 4; ++f)
    energies.push_back(counts[3 * f] * known[0] + counts[3 * f + 1] * known[1] +
                       counts[3 * f + 2] * known[2]);
  const auto bias = fit_energy_bias(counts, energies, 3);
  for (int t = 0; t < 3; ++t) EXPECT_NEAR(bias[t], known[t], 1e-12 * 120.0);  // rounding
}

TEST(EnergyBias, MinimumNormForASingleComposition)
{
  // water: 64 O, 128 H; of all solutions 64 a + 128 b = mean(E) the shortest has b = 2 a
  const std::vector<double> counts{64, 128, 64, 128, 64, 128},
      energies{-29943.0, -29944.0, -29945.0};
  const auto bias = fit_energy_bias(counts, energies, 2);
  EXPECT_NEAR(bias[0], -29944.0 / 320.0, 1e-11);
  EXPECT_NEAR(bias[1], -2 * 29944.0 / 320.0, 1e-11);
}

TEST(EnergyBias, FewerFramesThanTypesAndAbsentTypes)
{
  const auto bias =
      fit_energy_bias({3, 0, 4}, {50.0}, 3);  // minimum norm: 50 / 25 times the counts
  EXPECT_NEAR(bias[0], 6.0, 1e-13);
  EXPECT_NEAR(bias[1], 0.0, 1e-13);
  EXPECT_NEAR(bias[2], 8.0, 1e-13);
  EXPECT_EQ(fit_energy_bias({}, {}, 2), std::vector<double>(2, 0.0));
}

TEST(EnergyBias, BrokenInputIsNamed)
{
  expect_in("as many rows", message_of([] { fit_energy_bias({1, 2, 3}, {1.0}, 2); }));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_in("not a finite number", message_of([&] { fit_energy_bias({1, 2}, {nan}, 2); }));
}

}  // namespace dptrain::test
