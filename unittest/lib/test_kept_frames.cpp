// Frames that stay in the memory of the kernels: which of them, and that what was found for one is not taken for another.
#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/training/trainer.h"
#include "kernels/runtime.h"
#include "potential/native/deep_pot.h"
#include "potential/native/kept_frames.h"
#include "support/kernel_data.h"
#include "support/power_spectrum_model.h"
#include "support/random_frame.h"

namespace dptrain::test {
namespace {

KeptFrame<double> some_frame(const Frame &frame)
{
  ensure_runtime();
  KeptFrame<double> kept{std::make_shared<FrameSet>(), {}, {}};
  const Domain domain = frame.domain();
  kept.frames->set(&domain, 1, std::vector<char>(2, 0), true, 3.0);
  return kept;
}

Frame random(unsigned seed)
{
  return scatter_frame(make_mpi_communicator(), random_frame(seed, 20, skewed_box(6.0), true, 1.2),
                       3.2);
}

TEST(KeptFrames, OnesThatNoLongerComeGiveTheirPlaceToOthers)
{
  const Frame frame = random(1);
  const std::size_t size = some_frame(frame).memory_bytes(), most = 3 * size + size / 2;
  KeptFrames<double> frames;
  for (std::uint64_t number : {1, 2, 3}) {
    EXPECT_EQ(frames.find(number), nullptr);
    EXPECT_TRUE(frames.make_room(size, most));
    frames.keep(number, some_frame(frame));
  }
  EXPECT_EQ(frames.memory_bytes(), 3 * size);
  // all of them come: there is no room for a fourth
  for (int round = 0; round < 30; ++round) {
    for (std::uint64_t number : {1, 2, 3}) EXPECT_NE(frames.find(number), nullptr);
    EXPECT_EQ(frames.find(4), nullptr);
    EXPECT_FALSE(frames.make_room(size, most));
  }
  // the second one is gone
  for (int round = 0; round < 20; ++round)
    for (std::uint64_t number : {1, 3}) EXPECT_NE(frames.find(number), nullptr);
  EXPECT_TRUE(frames.make_room(size, most));
  EXPECT_EQ(frames.memory_bytes(), 2 * size);
  frames.keep(4, some_frame(frame));
  EXPECT_EQ(frames.find(2), nullptr);
  for (std::uint64_t number : {1, 3, 4}) EXPECT_NE(frames.find(number), nullptr);
  frames.clear();
  EXPECT_EQ(frames.memory_bytes(), 0u);
  EXPECT_EQ(frames.find(1), nullptr);
}

std::vector<double> errors_of(const UpdateReport &report)
{
  return {report.loss, report.rmse("e"), report.rmse("f")};
}

/// Errors of a trainer that has done nothing before.
std::vector<double> errors_afresh(const Frame &frame)
{
  Trainer trainer(std::make_shared<DeepPot>(power_spectrum_model(2, small_power_spectrum())),
                  make_mpi_communicator(), TrainingConfig());
  return errors_of(trainer.errors({&frame}));
}

void expect_equal(const std::vector<double> &found, const std::vector<double> &expected)
{
  // sums of a device are in another order each time
  for (std::size_t k = 0; k < found.size(); ++k)
    EXPECT_NEAR(found[k], expected[k], 1e-10 * std::abs(expected[k])) << k;
}

// A frame of the buffer comes many times, its copy with moved atoms is another one, and one that takes its place in the buffer too.
TEST(KeptFrames, WhatWasFoundForAFrameIsNotTakenForAnother)
{
  Trainer trainer(std::make_shared<DeepPot>(power_spectrum_model(2, small_power_spectrum())),
                  make_mpi_communicator(), [] {
                    TrainingConfig config;
                    config.buffer_frames = 1;
                    return config;
                  }());
  trainer.add(random(1));
  Frame moved = trainer.frame(0).copy();
  EXPECT_NE(trainer.frame(0).number, 0u);
  EXPECT_EQ(moved.number, 0u);
  for (int k = 0; k < moved.nlocal; ++k) moved.x[3 * k] += 0.02 * (k % 3);
  moved.find_neighbors();
  const std::vector<double> first = errors_afresh(random(1)), second = errors_afresh(moved),
                            third = errors_afresh(random(2));
  EXPECT_GT(std::abs(first[2] - second[2]), 1e-6 * first[2]);
  EXPECT_GT(std::abs(first[2] - third[2]), 1e-6 * first[2]);
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.stored_errors({0})), first);
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.errors({&moved})), second);
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.stored_errors({0})), first);
  trainer.add(random(2));
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.stored_errors({0})), third);
}

// Memory that was given back, both passes, and walls, which see the same neighbors.
TEST(KeptFrames, TheyFollowTheModel)
{
  const auto model = std::make_shared<DeepPot>(power_spectrum_model(2, small_power_spectrum()));
  Trainer trainer(model, make_mpi_communicator(), TrainingConfig());
  trainer.add(random(1));
  const std::vector<double> before = errors_of(trainer.stored_errors({0}));
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.stored_errors({0})), before);
  model->release_workspace();
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.stored_errors({0})), before);
  std::vector<double> slope, again;
  trainer.loss_gradient({0}, slope);
  for (int k = 0; k < 3; ++k) {
    trainer.loss_gradient({0}, again);
    expect_same_sums(again, slope, 1e-11);
  }
  model->set_walls(Walls(2, 1.5));
  const std::vector<double> walled = errors_of(trainer.stored_errors({0}));
  EXPECT_GT(std::abs(walled[2] - before[2]), 1e-6 * before[2]);
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.stored_errors({0})), walled);
  trainer.loss_gradient({0}, again);
  model->set_walls(Walls());
  for (int k = 0; k < 4; ++k) expect_equal(errors_of(trainer.stored_errors({0})), before);
}

}  // namespace
}  // namespace dptrain::test
