// The sum of the jumps of a run's potential energy, on sequences whose sum is known.

#include "session/asking/energy_jumps.h"

#include <gtest/gtest.h>

namespace dptrain {
namespace {

TEST(EnergyJumps, WhileOneForceFieldMovesThereAreNone)
{
  EnergyJumps jumps;
  jumps.begin();
  jumps.asked(0.0, 0.0, -10.0, true);  // no model yet
  jumps.asked(-3.0, -9.0, -11.0, true);
  EXPECT_EQ(jumps.sum(), 0.0);
  EnergyJumps model;
  model.begin();
  model.not_asked();
  model.asked(-5.0, -5.0, -7.0, false);  // a label that was not learned
  EXPECT_EQ(model.sum(), 0.0);
}

TEST(EnergyJumps, TheModelTakesOverLearnsAndGivesWay)
{
  EnergyJumps jumps;
  jumps.begin();
  jumps.asked(-9.0, -9.5, -10.0, true);
  jumps.asked(-8.0, -9.75, -10.0, false);  // from the reference to the model that has learned
  EXPECT_DOUBLE_EQ(jumps.sum(), 0.25);
  jumps.not_asked();
  jumps.asked(-9.0, -9.5, -9.75, false);  // it learns again
  EXPECT_DOUBLE_EQ(jumps.sum(), -0.25);
  jumps.asked(-9.0, -8.0, -10.0, true);  // the reference repeats a step
  EXPECT_DOUBLE_EQ(jumps.sum(), -1.25);
  jumps.not_asked();  // and the model goes on: 2 above the reference
  EXPECT_DOUBLE_EQ(jumps.sum(), 0.75);
  jumps.not_asked();
  EXPECT_DOUBLE_EQ(jumps.sum(), 0.75);
}

TEST(EnergyJumps, TheModelLearnsBesideTheRun)
{
  EnergyJumps jumps;
  jumps.begin();
  jumps.learned(-9.0, -9.5);  // nothing has moved the atoms yet
  EXPECT_EQ(jumps.sum(), 0.0);
  jumps.asked(-9.5, -9.5, -10.0, true);
  jumps.learned(-9.4, -9.9);  // the energy that it gives back is half an eV lower, too
  jumps.not_asked();
  EXPECT_DOUBLE_EQ(jumps.sum(), 0.5 - 0.5);
  jumps.learned(-9.0, -8.5);
  jumps.not_asked();
  EXPECT_DOUBLE_EQ(jumps.sum(), 0.5);
}

TEST(EnergyJumps, ARunContinues)
{
  EnergyJumps jumps;
  jumps.set_sum(5.0);
  jumps.begin(true);
  jumps.asked(-9.0, -9.0, -10.0, true);
  EXPECT_EQ(jumps.sum(), 5.0);
  jumps.not_asked();
  EXPECT_EQ(jumps.sum(), 6.0);
  jumps.begin();  // other atoms
  jumps.asked(-100.0, -101.0, -120.0, false);
  EXPECT_EQ(jumps.sum(), 6.0);
}

}  // namespace
}  // namespace dptrain
