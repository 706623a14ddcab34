// Error bars from errors of known distributions.

#include "dptrain/uncertainty/bar_calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "dptrain/base/error.h"
#include "dptrain/base/state.h"
#include "support/scratch.h"

namespace dptrain::test {
namespace {

// Errors that are uniform between 0 and factor[type] times the distance.
AtomErrors uniform_errors(int natoms, const std::vector<double> &factor, std::mt19937 &engine,
                          const ErrorBars &bars = {})
{
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  AtomErrors atoms;
  for (int i = 0; i < natoms; ++i) {
    const int type = i % static_cast<int>(factor.size());
    const double distance = 0.5 + uniform(engine);
    atoms.type.push_back(type);
    atoms.distance.push_back(distance);
    atoms.error.push_back(factor[type] * distance * uniform(engine));
    if (bars.is_known()) atoms.bar.push_back(bars.scale[type] * distance);
  }
  return atoms;
}

// Of 30 configurations with 100 atoms of a type 90 % are below 0.9 factor; standard deviation of the quantile 0.005, and of
// the part of 20,000 new errors below it 0.006.
TEST(BarCalibration, CoversWhatItPromises)
{
  std::mt19937 engine(3);
  BarCalibration calibration(0.9, BarCalibration::everything);
  EXPECT_FALSE(calibration.bars(2, "frames").is_known());
  for (int k = 0; k < 30; ++k) calibration.add(uniform_errors(200, {0.2, 0.05}, engine));
  const ErrorBars bars = calibration.bars(2, "frames");
  EXPECT_NEAR(bars.scale[0], 0.18, 0.005);
  EXPECT_NEAR(bars.scale[1], 0.045, 0.00125);
  EXPECT_EQ(bars.frames, 30);
  EXPECT_EQ(bars.atoms, (std::vector<std::int64_t>{3000, 3000}));
  EXPECT_EQ(bars.source, "30 frames");
  BarCoverage coverage;
  coverage.add(uniform_errors(20000, {0.2, 0.05}, engine, bars));
  EXPECT_NEAR(coverage.found(), 0.9, 0.025);
  expect_in("promised 90 %, found 9", coverage.text(bars, {"Ga", "N"}));
  expect_in("of 20000 atoms (Ga ", coverage.text(bars, {"Ga", "N"}));
  BarCoverage sum;
  sum.add(coverage.numbers(2));
  sum.add(coverage.numbers(2));
  EXPECT_EQ(sum.atoms(), 40000);
  EXPECT_EQ(sum.found(), coverage.found());
}

// Errors become a tenth: after the memory they are the only ones that count, and before that they do more and more.
TEST(BarCalibration, FollowsErrorsThatChange)
{
  std::mt19937 engine(4);
  BarCalibration calibration(0.9, BarCalibration::Memory());
  for (int k = 0; k < 40; ++k) calibration.add(uniform_errors(100, {1.0}, engine));
  EXPECT_NEAR(calibration.bars(1, "labels").scale[0], 0.9, 0.03);
  for (int k = 0; k < 24; ++k) calibration.add(uniform_errors(100, {0.1}, engine));
  EXPECT_LT(calibration.bars(1, "labels").scale[0], 0.2);
  for (int k = 0; k < 6; ++k) calibration.add(uniform_errors(100, {0.1}, engine));
  EXPECT_NEAR(calibration.bars(1, "labels").scale[0], 0.09, 0.003);
  EXPECT_EQ(calibration.bars(1, "labels").frames, 30);
  EXPECT_EQ(calibration.count(), 70);
}

// Errors that grow by a tenth from one label to the next: bars of the latest labels alone would be left behind, and the factor makes
// up for it. Standard deviation of the part of 2000 errors: 0.007; the rest is for what the factor fluctuates.
TEST(BarCalibration, KeepsItsPromiseWhereErrorsGrow)
{
  const auto found = [](double gain) {
    std::mt19937 engine(8);
    BarCalibration calibration(0.9, {30, 0.9, gain});
    BarCoverage coverage;
    double size = 1.0;
    for (int k = 0; k < 80; ++k, size *= 1.1) {
      const AtomErrors atoms = uniform_errors(100, {size}, engine, calibration.bars(1, "labels"));
      calibration.add(atoms);
      if (k >= 60) coverage.add(atoms);
    }
    return coverage.found();
  };
  EXPECT_LT(found(0.0), 0.65);
  EXPECT_NEAR(found(BarCalibration::Memory().gain), 0.9, 0.03);
}

// Several answers may come with bars of the same old time: those do not count, but what the bars were before each answer.
TEST(BarCalibration, TheFactorFollowsItsOwnBars)
{
  std::mt19937 engine(9);
  BarCalibration calibration(0.9, BarCalibration::Memory()), plain(0.9, BarCalibration::Memory());
  ErrorBars old;
  old.scale = {1e-3};
  for (int k = 0; k < 8; ++k) {
    AtomErrors atoms = uniform_errors(100, {1.0}, engine, old);
    calibration.add(atoms);
    atoms.bar.clear();
    plain.add(atoms);
  }
  EXPECT_EQ(calibration.bars(1, "labels"), plain.bars(1, "labels"));
  EXPECT_NEAR(calibration.bars(1, "labels").scale[0], 0.9, 0.1);
}

// All above their bars: 0.9 of the gain for many atoms, a fifth of that for one; the ratios themselves are as before.
TEST(BarCalibration, FewAtomsChangeTheFactorLess)
{
  const auto shift = [](std::size_t natoms) {
    BarCalibration with(0.9, {30, 1e-9, 0.5}), without(0.9, {30, 1e-9, 0.0});
    for (BarCalibration *calibration : {&with, &without}) {
      for (const double error : {1.0, 2.0})
        calibration->add({std::vector<int>(natoms, 0),
                          std::vector<double>(natoms, 1.0),
                          {},
                          std::vector<double>(natoms, error)});
    }
    return std::log(with.bars(1, "labels").scale[0] / without.bars(1, "labels").scale[0]);
  };
  EXPECT_NEAR(shift(1), 0.5 * 0.9 / 5.0, 1e-12);
  EXPECT_NEAR(shift(96), 0.5 * 0.9 * 0.96, 1e-12);
}

TEST(BarCalibration, ATypeWithoutAtomsHasTheLargestBar)
{
  std::mt19937 engine(5);
  BarCalibration calibration(0.9, BarCalibration::everything);
  for (int k = 0; k < 10; ++k) calibration.add(uniform_errors(100, {0.2, 0.05}, engine));
  const ErrorBars bars = calibration.bars(3, "frames");
  EXPECT_EQ(bars.scale[2], bars.scale[0]);
  EXPECT_EQ(bars.atoms[2], 0);
  expect_in("(atoms: Ga 500, N 500)", text_of(bars, {"Ga", "N", "O"}));
}

TEST(BarCalibration, WhatIsNotFiniteIsNotCounted)
{
  BarCalibration calibration(0.9, BarCalibration::everything);
  calibration.add(
      {{0, 0, 0, 0}, {0.0, std::nan(""), HUGE_VAL, 1.0}, {}, {1.0, 1.0, 1.0, std::nan("")}});
  EXPECT_FALSE(calibration.bars(1, "frames").is_known());
  calibration.add({{0}, {2.0}, {}, {1.0}});
  EXPECT_EQ(calibration.bars(1, "frames").scale[0], 0.5);
}

TEST(BarCalibration, AStateGoesOnTheSame)
{
  std::mt19937 engine(6);
  BarCalibration calibration(0.9, BarCalibration::Memory()), copy(0.9, BarCalibration::Memory());
  for (int k = 0; k < 35; ++k) calibration.add(uniform_errors(300, {0.2, 0.05}, engine));
  const State state = state_of(calibration);
  state.read(copy);
  EXPECT_EQ(copy.bars(2, "labels"), calibration.bars(2, "labels"));
  EXPECT_EQ(state_of(copy), state);
  State damaged = state;
  damaged.set("count", -1);
  EXPECT_THROW(damaged.read(copy), Error);
}

// One more than the number of those that must be below: the quantile is one of the errors.
TEST(ErrorBars, NumberOfFramesThatACoverageNeeds)
{
  EXPECT_EQ(frames_for(0.5), 1);
  EXPECT_EQ(frames_for(0.9), 9);
  EXPECT_EQ(frames_for(0.95), 19);
  EXPECT_EQ(frames_for(0.99), 99);
}

TEST(ErrorBars, DamageIsSeen)
{
  const ErrorBars good{{0.1, 0.2}, 0.9, 10, {5, 5}, "10 frames"};
  EXPECT_EQ(good.damage(2), "");
  EXPECT_NE(good.damage(3), "");
  ErrorBars bad = good;
  bad.scale[1] = -0.1;
  EXPECT_NE(bad.damage(2), "");
  bad = good;
  bad.coverage = 1.0;
  EXPECT_NE(bad.damage(2), "");
  EXPECT_EQ(ErrorBars().damage(2), "");
}

}  // namespace
}  // namespace dptrain::test
