// Order of the frames in the batches.

#include "data/replay_buffer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <algorithm>
#include <set>

#include "dptrain/base/state.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
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
  two.go_to(one.position());
  expect_in("none yet", message_of([&] { two.next_batch(1); }));
  two.add(numbered(0));
  expect_in("only 1", message_of([&] { two.next_batch(1); }));
  for (int k = 1; k < 7; ++k) two.add(numbered(k));
  for (int k = 0; k < 6; ++k) EXPECT_EQ(one.next_batch(3), two.next_batch(3));
}

TEST(ReplayBuffer, FramesBeyondTheBudgetAreOnTheDiskAndComeBackTheSame)
{
  const auto split = [&](int k) {
    return scatter_frame(make_mpi_communicator(),
                         random_frame(k, 40, {8, 0, 0, 1, 7, 0, 0, 2, 9}, true, 0.8), 4.0);
  };
  const Frame expected = split(5);
  ReplayBuffer buffer(1, 2, 3 * split(4).memory_bytes() / 2);  // room for one frame
  buffer.add(split(4));
  buffer.add(split(5));
  EXPECT_TRUE(buffer.frame(0).has_neighbors());
  EXPECT_TRUE(buffer.frame(1).x.empty());
  EXPECT_LT(buffer.frame(1).memory_bytes(), buffer.frame(0).memory_bytes() / 10);
  EXPECT_EQ(buffer.frame(1).natoms, 40);
  EXPECT_GT(buffer.disk_bytes(), 0);
  const Frame &found = buffer.use(1);
  EXPECT_EQ(found.neighbor, expected.neighbor);
  EXPECT_EQ(found.first, expected.first);
  EXPECT_EQ(found.x, expected.x);
  EXPECT_EQ(found.type, expected.type);
  EXPECT_EQ(found.label.force, expected.label.force);
  EXPECT_GT(found.domain().nlocal, 0);  // makes a view, which must go as well
  buffer.release(0);
  buffer.release(1);
  EXPECT_LT(buffer.frame(1).memory_bytes(), buffer.frame(0).memory_bytes() / 10);
  EXPECT_TRUE(buffer.frame(0).has_neighbors());
  EXPECT_TRUE(buffer.frame(1).x.empty());
  // further frames take the places of the old ones, in memory and on the disk
  const std::int64_t disk = buffer.disk_bytes();
  for (int k = 0; k < 20; ++k) buffer.add(split(4 + k % 2));
  EXPECT_LE(buffer.disk_bytes(), 3 * disk);
  EXPECT_EQ(buffer.use(1).x, expected.x);
}

TEST(ReplayBuffer, AFullDiskCostsTimeOnly)
{
  const char *before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  setenv("TMPDIR", "/nowhere/at/all", 1);
  const WholeFrame whole = random_frame(4, 40, {8, 0, 0, 1, 7, 0, 0, 2, 9}, true, 0.8);
  const Frame expected = scatter_frame(make_mpi_communicator(), whole, 4.0);
  ReplayBuffer buffer(1, 0, 0);
  buffer.add(scatter_frame(make_mpi_communicator(), whole, 4.0));
  EXPECT_FALSE(buffer.frame(0).has_neighbors());
  EXPECT_FALSE(buffer.frame(0).x.empty());
  EXPECT_EQ(buffer.use(0).neighbor, expected.neighbor);
  if (before)
    setenv("TMPDIR", kept.c_str(), 1);
  else
    unsetenv("TMPDIR");
}

TEST(ReplayBuffer, BadRequestsAreNamed)
{
  ReplayBuffer buffer = filled(2, 1);
  expect_in("no frame 2", message_of([&] { buffer.frame(2); }));
  ReplayBuffer::Position position = buffer.position();
  for (const std::int64_t wrong : {5, -1}) {  // of none
    State state = state_of(position);
    state.set("position", wrong);
    expect_in("damaged", message_of([&] { state.read(position); }));
  }
  expect_in("epoch is missing", message_of([&] { State().read(position); }));
}

}  // namespace dptrain::test
