// Order of the frames in the batches.

#include "data/replay_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/random_frame.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

Frame numbered(std::int64_t step)
{
  Frame frame;
  frame.step = step;
  return frame;
}

ReplayBuffer filled(int n, std::uint64_t seed)
{
  ReplayBuffer buffer(seed);
  for (int k = 0; k < n; ++k) buffer.add(numbered(k));
  return buffer;
}

}  // namespace

TEST(ReplayBuffer, AnEpochSeesEachFrameOnce)
{
  ReplayBuffer buffer = filled(10, 3);
  std::vector<std::vector<std::int64_t>> epochs(2);
  for (auto &epoch : epochs) {
    for (int expected : {4, 4, 2}) {  // the end of an epoch is a smaller batch
      const auto batch = buffer.next_batch(4);
      EXPECT_EQ(static_cast<int>(batch.size()), expected);
      epoch.insert(epoch.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(std::set<std::int64_t>(epoch.begin(), epoch.end()).size(), 10u);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_FALSE(std::is_sorted(epochs[0].begin(), epochs[0].end()));
}

TEST(ReplayBuffer, TheOrderIsPortable)
{
  // the C++ standard fixes mt19937_64 and seed_seq: these numbers are the same everywhere and must stay the same
  ReplayBuffer one = filled(8, 5), two = filled(8, 5), other = filled(8, 6);
  const auto order = one.next_batch(8);
  EXPECT_EQ(order, two.next_batch(8));
  EXPECT_NE(order, other.next_batch(8));
}

TEST(ReplayBuffer, ANewFrameJoinsTheNextEpoch)
{
  ReplayBuffer buffer = filled(3, 1);
  buffer.next_batch(1);
  buffer.add(numbered(3));
  auto rest = buffer.next_batch(9);
  EXPECT_EQ(rest.size(), 2u);
  EXPECT_EQ(std::count(rest.begin(), rest.end(), 3), 0);
  EXPECT_EQ(buffer.next_batch(9).size(), 4u);
}

TEST(ReplayBuffer, AFullBufferDropsTheOldest)
{
  ReplayBuffer buffer(1, 3);
  for (int k = 0; k < 5; ++k) buffer.add(numbered(k));
  ASSERT_EQ(buffer.size(), 3);
  EXPECT_EQ(buffer.frame(0).step, 3);
  EXPECT_EQ(buffer.frame(1).step, 4);
  EXPECT_EQ(buffer.frame(2).step, 2);
}

TEST(ReplayBuffer, ARestoredOrderContinues)
{
  ReplayBuffer one = filled(7, 9);
  for (int k = 0; k < 4; ++k) one.next_batch(3);
  ReplayBuffer two(9);
  two.set_state(one.state());
  expect_in("none yet", message_of([&] { two.next_batch(1); }));
  two.add(numbered(0));
  expect_in("only 1", message_of([&] { two.next_batch(1); }));
  for (int k = 1; k < 7; ++k) two.add(numbered(k));
  for (int k = 0; k < 6; ++k) EXPECT_EQ(one.next_batch(3), two.next_batch(3));
}

TEST(ReplayBuffer, RowsBeyondTheBudgetAreFoundAgainTheSame)
{
  const WholeFrame whole = random_frame(4, 40, {8, 0, 0, 1, 7, 0, 0, 2, 9}, true, 0.8);
  const auto split = [&] { return scatter_frame(make_mpi_communicator(), whole, 4.0); };
  const Frame kept = split();
  ReplayBuffer buffer(1, 0, kept.neighbor.size() * sizeof(int));  // room for the rows of one frame
  buffer.add(split());
  buffer.add(split());
  EXPECT_TRUE(buffer.frame(0).has_neighbors());
  EXPECT_FALSE(buffer.frame(1).has_neighbors());
  EXPECT_EQ(buffer.use(1).neighbor, kept.neighbor);
  EXPECT_EQ(buffer.use(1).first, kept.first);
  buffer.release(0);
  buffer.release(1);
  EXPECT_TRUE(buffer.frame(0).has_neighbors());
  EXPECT_FALSE(buffer.frame(1).has_neighbors());
}

TEST(ReplayBuffer, BadRequestsAreNamed)
{
  ReplayBuffer buffer = filled(2, 1);
  expect_in("no frame 2", message_of([&] { buffer.frame(2); }));
  expect_in("damaged", message_of([&] { buffer.set_state({1}); }));
}

}  // namespace dptrain::test
