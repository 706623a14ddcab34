// The dynamics of short runs that explore: the distribution is that of the temperature, and a hole cannot be jumped over.

#include <gtest/gtest.h>

#include <cmath>

#include "session/asking/langevin_walk.h"
#include "support/random_frame.h"

namespace dptrain::test {
namespace {

constexpr double kt = 0.1;  // eV

WholeFrame start()
{
  return random_frame(5, 20, {9.0, 0.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 9.0}, true, 1.6);
}

// Each component in a harmonic well of its own, stiff ones and soft ones: equipartition says k <x^2> = kT. 8000 steps of 60 components are some
// 160 independent values for each of the softest, 2 % in the mean over the 20 of a kind.
TEST(LangevinWalk, HasTheTemperature)
{
  const WholeFrame first = start();
  LangevinWalk walk(first, kt, 3);
  const double stiffness[3] = {40.0, 8.0, 2.0};  // eV/Angstrom^2
  double sums[3] = {};
  constexpr int before = 1000, steps = 8000;
  for (int n = 0; n < before + steps; ++n) {
    std::vector<double> force(first.coord.size());
    for (std::size_t k = 0; k < force.size(); ++k) {
      const double x = walk.frame().coord[k] - first.coord[k];
      force[k] = -stiffness[k % 3] * x;
      if (n >= before) sums[k % 3] += stiffness[k % 3] * x * x;
    }
    walk.step(force);
  }
  for (const double sum : sums) EXPECT_NEAR(sum / (20.0 * steps) / kt, 1.0, 0.08);
  EXPECT_EQ(walk.frame().step, first.step + before + steps);
  EXPECT_EQ(walk.frame().box, first.box);
}

TEST(LangevinWalk, IsTheSameForASeed)
{
  const std::vector<double> force(60, 0.3);
  LangevinWalk one(start(), kt, 3), same(start(), kt, 3), other(start(), kt, 4);
  for (int n = 0; n < 5; ++n)
    for (LangevinWalk *walk : {&one, &same, &other}) walk->step(force);
  EXPECT_EQ(one.frame().coord, same.frame().coord);
  EXPECT_NE(one.frame().coord, other.frame().coord);
}

TEST(LangevinWalk, IsNotThrownFar)
{
  LangevinWalk walk(start(), kt, 3);
  walk.step(std::vector<double>(60, 1e6));
  for (std::size_t k = 0; k < 60; ++k)
    EXPECT_NEAR(walk.frame().coord[k] - start().coord[k], 0.1, 1e-9);
  EXPECT_TRUE(walk.is_finite());
  walk.step(std::vector<double>(60, std::nan("")));
  EXPECT_FALSE(walk.is_finite());
}

}  // namespace
}  // namespace dptrain::test
