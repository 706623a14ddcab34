// Frames with wrong energies among many good ones.

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "dptrain/parallel/communicator.h"
#include "statistics/energy_outliers.h"

namespace dptrain {
namespace {

constexpr double energies[] = {-3.0, -4.5};  // eV, of the atoms

/// Alloys of 8 atoms whose energies deviate by 0.3 eV per atom, and both elements as single atoms, with bonds of 5 eV.
struct Alloys {
  explicit Alloys(int frames)
  {
    RandomEngine engine(7);
    for (int frame = 0; frame < frames; ++frame) {
      std::vector<int> types(8, 0);
      for (int i = 0; i < frame % 9; ++i) types[i] = 1;
      add(types, 8 * 0.3 * random_normal(engine));
    }
    add({0}, 5.0);
    add({1}, 5.0);
  }

  void add(const std::vector<int> &types, double deviation)
  {
    Label label;
    label.energy = deviation;
    for (const int type : types) *label.energy += energies[type];
    search.add(types, label, 3, number++);
  }

  OutlierSearch search{2};
  std::int64_t number = 0;
  std::shared_ptr<const Communicator> comm = make_mpi_communicator();
};

TEST(EnergyOutliers, NoneAmongGoodFrames)
{
  Alloys alloys(40);
  const EnergyOutliers found = alloys.search.find(*alloys.comm);
  EXPECT_TRUE(found.frames.empty());
  EXPECT_GT(found.typical, 0.1);
  EXPECT_LT(found.typical, 0.6);
}

TEST(EnergyOutliers, OfTwoWrongFramesTheFartherComesFirst)
{
  Alloys alloys(24);
  alloys.add({0, 0, 1, 1, 1, 1, 1, 1}, -400.0);
  alloys.add({0, 0, 0, 0, 0, 0, 0, 1}, 5e4);
  const EnergyOutliers found = alloys.search.find(*alloys.comm);
  ASSERT_EQ(found.frames.size(), 2u);
  EXPECT_EQ(found.frames[0].frame, 27);
  EXPECT_EQ(found.frames[0].system, 3u);
  EXPECT_NEAR(found.frames[0].per_atom, 5e4 / 8,
              1.0);  // the mean of 0.3 eV per atom over a few frames
  EXPECT_EQ(found.frames[1].frame, 26);
  EXPECT_NEAR(found.frames[1].per_atom, -50.0, 1.0);
  for (int t = 0; t < 2; ++t) EXPECT_NEAR(found.bias_without[t], energies[t], 0.5);
}

TEST(EnergyOutliers, EqualEnergiesAndFewFrames)
{
  OutlierSearch same(1), few(1);
  Label label;
  label.energy = -7.0;
  for (int k = 0; k < 5; ++k) same.add({0, 0}, label, 0, k);
  const auto comm = make_mpi_communicator();
  const EnergyOutliers found = same.find(*comm);
  EXPECT_TRUE(found.frames.empty());
  EXPECT_NEAR(found.bias_without.at(0), -3.5, 1e-9);
  few.add({0, 0}, label, 0, 0);
  EXPECT_TRUE(few.find(*comm).frames.empty());
}

}  // namespace
}  // namespace dptrain
