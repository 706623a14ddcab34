// Frames of a data set: kept up to a number of bytes, read again beyond it, the same on all ranks.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "data/frame_cache.h"
#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/data/data_set.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/whole_frame.h"
#include "support/world.h"

using namespace dptrain;
using dptrain::test::world;

namespace {

constexpr int FRAMES = 6, NATOMS = 8;
constexpr double EDGE = 6.0, RCUT = 3.0;

/// Atoms on a grid, frame k stretched a little; counts how often it is read.
class Grid : public DataSystem {
 public:
  const std::string &name() const override { return name_; }
  std::int64_t num_frames() const override { return FRAMES; }
  std::int64_t natoms(std::int64_t) const override { return NATOMS; }
  bool same_atoms() const override { return true; }
  WholeFrame read(std::int64_t k) const override
  {
    ++reads;
    WholeFrame frame;
    frame.step = k;
    const double edge = EDGE + 0.1 * static_cast<double>(k);
    frame.box = {edge, 0, 0, 0, edge, 0, 0, 0, edge};
    for (int atom = 0; atom < NATOMS; ++atom) {
      for (int d = 0; d < 3; ++d) frame.coord.push_back(0.5 * edge * (atom >> d & 1));
      frame.type.push_back(0);
      frame.label.atom_energy.push_back(atom);
    }
    frame.label.energy = static_cast<double>(k);
    if (k == broken) frame.coord[3] = std::numeric_limits<double>::quiet_NaN();
    return frame;
  }
  mutable int reads = 0;
  std::int64_t broken = -1;

 private:
  std::string name_ = "grid";
};

Distributor by_space()
{
  return Distributor(world(), Distribution::space, 1, 1000);
}

// One rank reads, the others get what it has read.
int reads_of_this_rank(int reads)
{
  return world()->rank() == 0 ? reads : 0;
}

}  // namespace

TEST(FrameCache, KeepsFramesWithinTheBudget)
{
  auto grid = std::make_shared<Grid>();
  FrameCache cache(world(), {grid}, by_space(), RCUT, 1, std::size_t(1) << 30);
  for (int round = 0; round < 3; ++round)
    for (std::int64_t k = 0; k < FRAMES; ++k)
      EXPECT_EQ(*cache.load({{0, k}})[0]->label.energy, static_cast<double>(k));
  EXPECT_EQ(grid->reads, reads_of_this_rank(FRAMES));
  EXPECT_NEAR(cache.closest().smallest(), 0.5 * EDGE, 1e-12);  // of frame 0
}

TEST(FrameCache, WhatTheBudgetDoesNotHoldComesBackFromTheDisk)
{
  auto grid = std::make_shared<Grid>();
  FrameCache roomy(world(), {grid}, by_space(), RCUT, 1, std::size_t(1) << 30);
  FrameCache cache(world(), {grid}, by_space(), RCUT, 1, 0);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t k = 0; k < FRAMES; ++k) {
      cache.prefetch({{0, k}});
      const auto frames = cache.load({{0, k}, {0, (k + 3) % FRAMES}, {0, k}});
      EXPECT_EQ(frames[0], frames[2]);
      const Frame &frame = *frames[0], &expected = *roomy.load({{0, k}})[0];
      EXPECT_EQ(*frame.label.energy, static_cast<double>(k));
      EXPECT_EQ(frame.x, expected.x);
      EXPECT_EQ(frame.type, expected.type);
      EXPECT_EQ(frame.tag, expected.tag);
      EXPECT_EQ(frame.first, expected.first);
      EXPECT_EQ(frame.neighbor, expected.neighbor);
      EXPECT_EQ(frame.label.atom_energy, expected.label.atom_energy);
    }
  EXPECT_EQ(grid->reads, reads_of_this_rank(2 * FRAMES));  // once for each of the two caches
  // arrays are on the disk, plans of ghosts are not
  const MemoryLedger all = roomy.memory(), some = cache.memory();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_LT(some[0].bytes, all[0].bytes);
  EXPECT_LT(some[1].bytes, all[1].bytes);
  EXPECT_EQ(some[2].purpose, "halo");
  EXPECT_EQ(some[2].bytes, all[2].bytes);
  EXPECT_GT(some[2].bytes, 0u);
}

TEST(FrameCache, WithoutADiskFramesAreReadAgain)
{
  const char *before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", "/nowhere/at/all", 1);
  auto grid = std::make_shared<Grid>();
  FrameCache cache(world(), {grid}, by_space(), RCUT, 1, 0);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t k = 0; k < FRAMES; ++k)
      EXPECT_EQ(*cache.load({{0, k}})[0]->label.energy, static_cast<double>(k));
  EXPECT_EQ(grid->reads, reads_of_this_rank(2 * FRAMES));
  if (before)
    setenv("TMPDIR", kept.c_str(), 1);
  else
    unsetenv("TMPDIR");
}

TEST(FrameCache, RanksHoldEachAtomOnceWithItsLabels)
{
  const auto comm = world();
  FrameCache cache(comm, {std::make_shared<Grid>()}, by_space(), RCUT, 1, 0);
  const Frame &frame = *cache.load({{0, 3}})[0];
  ASSERT_EQ(frame.label.atom_energy.size(), std::size_t(frame.nlocal));
  for (int i = 0; i < frame.nlocal; ++i)
    EXPECT_EQ(frame.label.atom_energy[i], static_cast<double>(frame.tag[i] - 1));
  std::int64_t owned = frame.nlocal;
  comm->all_reduce_sum(&owned, 1);
  EXPECT_EQ(owned, NATOMS);
}

TEST(FrameCache, AFrameThatCannotBeUsedIsNamed)
{
  auto grid = std::make_shared<Grid>();
  grid->broken = 5;
  FrameCache cache(world(), {grid}, by_space(), RCUT, 1, 0);
  try {
    cache.load({{0, 5}});
    FAIL() << "no error";
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("grid, frame 5"), std::string::npos) << e.what();
  }
}
