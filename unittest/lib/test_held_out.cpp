// Which frames a training holds out.

#include "commands/held_out.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace dptrain::test {
namespace {

/// Frames that are told apart by their number of atoms.
class Numbered final : public DataSystem {
 public:
  explicit Numbered(std::int64_t frames) : frames_(frames) {}
  const std::string &name() const override { return name_; }
  std::int64_t num_frames() const override { return frames_; }
  std::int64_t natoms(std::int64_t frame) const override { return frame; }
  bool same_atoms() const override { return false; }
  WholeFrame read(std::int64_t /*frame*/) const override { return {}; }

 private:
  std::string name_ = "numbered";
  std::int64_t frames_;
};

std::vector<std::int64_t> frames_of(const DataSystem &system)
{
  std::vector<std::int64_t> frames;
  for (std::int64_t k = 0; k < system.num_frames(); ++k) frames.push_back(system.natoms(k));
  return frames;
}

// Beginnings of runs of frames that follow one another.
int blocks(const std::vector<std::int64_t> &frames)
{
  int count = 0;
  for (std::size_t k = 0; k < frames.size(); ++k) count += k == 0 || frames[k] != frames[k - 1] + 1;
  return count;
}

TEST(HoldOut, BlocksOfATrajectory)
{
  for (const std::int64_t n : {30, 61, 122, 1000}) {
    const HeldOut parts = hold_out({std::make_shared<Numbered>(n)}, 0.1);
    ASSERT_EQ(parts.held_out.size(), 1u);
    const auto held = frames_of(*parts.held_out[0]), kept = frames_of(*parts.training[0]);
    EXPECT_EQ(num_frames(parts.held_out), n / 10);
    EXPECT_EQ(static_cast<std::int64_t>(held.size()), n / 10);
    std::set<std::int64_t> all(held.begin(), held.end());
    all.insert(kept.begin(), kept.end());
    EXPECT_EQ(static_cast<std::int64_t>(all.size()), n);  // each is in one of the two
    EXPECT_EQ(static_cast<std::int64_t>(held.size() + kept.size()), n);
    EXPECT_LE(blocks(held), 4);
    // blocks have six frames or more, where there are as many
    EXPECT_LE(blocks(held) * 6, std::max<std::int64_t>(n / 10, 6));
  }
}

// Of systems with a few frames each some give one; half of the frames of each stay.
TEST(HoldOut, SmallSystems)
{
  Systems systems;
  for (int k = 0; k < 30; ++k) systems.push_back(std::make_shared<Numbered>(3));
  const HeldOut parts = hold_out(systems, 0.1);
  EXPECT_NEAR(static_cast<double>(num_frames(parts.held_out)), 9.0, 1.0);
  EXPECT_EQ(parts.training.size(), 30u);
  for (const auto &system : parts.training) EXPECT_GE(system->num_frames(), 2);
  EXPECT_EQ(num_frames(hold_out({std::make_shared<Numbered>(29)}, 0.1).held_out), 0);  // too few
  const HeldOut halves =
      hold_out({std::make_shared<Numbered>(1), std::make_shared<Numbered>(9)}, 0.5);
  EXPECT_EQ(halves.training[0]->num_frames(), 1);
  EXPECT_EQ(halves.training[1]->num_frames(), 5);
}

TEST(HoldOut, NothingIsAskedFor)
{
  const HeldOut parts = hold_out({std::make_shared<Numbered>(100)}, 0.0);
  EXPECT_EQ(num_frames(parts.held_out), 0);
  EXPECT_TRUE(parts.held_out.empty());
  EXPECT_EQ(parts.training[0]->num_frames(), 100);
}

}  // namespace
}  // namespace dptrain::test
