// Frames divided by space, by frames, or both in one batch: the same gradient and the same training.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "dptrain/base/error.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/training/energy_bias_fit.h"
#include "dptrain/training/trainer.h"
#include "dptrain/uncertainty/feature_moments.h"
#include "support/random_frame.h"
#include "support/small_training.h"
#include "support/tiny_model.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

constexpr double RCUT = 4.0;

std::vector<WholeFrame> whole_frames()
{
  std::vector<WholeFrame> frames{random_frame(1, 30, skewed_box(6.0), true, 1.2),
                                 random_frame(2, 3, cubic_box(5.0), true, 1.2),
                                 random_frame(3, 17, skewed_box(5.0), true, 1.2),
                                 random_frame(4, 12, cubic_box(9.0), false, 1.2),
                                 random_frame(5, 8, cubic_box(4.5), true, 1.2)};
  frames[1].label.force.clear();
  frames[2].label.virial.reset();
  frames[3].label.virial.reset();
  for (int k : {0, 3})  // cut-outs
    for (std::size_t i = 0; i < frames[k].type.size(); ++i)
      frames[k].label.force_weight.push_back(i % 3 == 1 ? 1.0 : 0.0);
  return frames;
}

TrainingConfig configuration()
{
  TrainingConfig config = small_training(3);
  config.ema_decay = 0.9;
  return config;
}

/// By space, by frames, or in turn.
enum class Way { space, frames, mixture };

struct Training {
  explicit Training(std::shared_ptr<const Communicator> c, Way way,
                    const TrainingConfig &config = configuration()) :
      comm(std::move(c)),
      model(make_deep_pot(tiny_model(tiny_config()))),
      trainer(model, comm, config)
  {
    Distributor space(comm, Distribution::space, 3, 100),
        frames(comm, Distribution::frames, 3, 100);
    int k = 0;
    for (const WholeFrame &whole : whole_frames()) {
      const bool copy = way == Way::frames || (way == Way::mixture && k++ % 2 == 0);
      trainer.add((copy ? frames : space).share(whole, RCUT));
    }
  }
  std::shared_ptr<const Communicator> comm;
  std::shared_ptr<Model> model;
  Trainer trainer;
};

// Relative to the largest number.
void expect_close(const std::vector<double> &a, const std::vector<double> &b, double tolerance)
{
  ASSERT_EQ(a.size(), b.size());
  double largest = 0.0, difference = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    largest = std::max(largest, std::abs(a[k]));
    difference = std::max(difference, std::abs(a[k] - b[k]));
  }
  EXPECT_GT(largest, 0.0);
  EXPECT_LE(difference, tolerance * largest);
}

class Distributions : public testing::TestWithParam<Way> {};

}  // namespace

// Sums in another order: 1e-12.
TEST_P(Distributions, GradientIsThatOfOneRank)
{
  Training one(make_mpi_communicator(), Way::space), all(world(), GetParam());
  for (const std::vector<std::int64_t> &batch :
       std::vector<std::vector<std::int64_t>>{{0}, {1}, {3}, {0, 1, 2, 3, 4}, {4, 4, 2}}) {
    std::vector<double> expected, found;
    const UpdateReport a = one.trainer.loss_gradient(batch, expected);
    const UpdateReport b = all.trainer.loss_gradient(batch, found);
    EXPECT_NEAR(a.loss, b.loss, 1e-12 * a.loss);
    expect_close(expected, found, 1e-12);
  }
}

TEST_P(Distributions, TwentyStepsGiveTheParametersOfOneRank)
{
  Training one(make_mpi_communicator(), Way::space), all(world(), GetParam());
  for (int step = 0; step < 20; ++step) {
    const UpdateReport a = one.trainer.update(), b = all.trainer.update();
    EXPECT_NEAR(a.loss, b.loss, 1e-11 * a.loss);
    EXPECT_NEAR(a.rmse("f"), b.rmse("f"), 1e-11 * a.rmse("f"));
  }
  expect_close(one.model->parameters().values(), all.model->parameters().values(), 1e-12);
  expect_close(one.model->energy_bias(), all.model->energy_bias(), 1e-12);
  expect_close(one.trainer.potential_parameters(), all.trainer.potential_parameters(), 1e-12);
}

TEST_P(Distributions, MicroBatchesToo)
{
  TrainingConfig config = configuration();
  config.parallel.micro_batch = 2;
  Training one(make_mpi_communicator(), Way::space), all(world(), GetParam(), config);
  std::vector<double> expected, found;
  one.trainer.loss_gradient({0, 1, 2, 3, 4}, expected);
  all.trainer.loss_gradient({0, 1, 2, 3, 4}, found);
  expect_close(expected, found, 1e-12);
}

TEST_P(Distributions, FeatureMomentsAreThoseOfOneRank)
{
  Training one(make_mpi_communicator(), Way::space), all(world(), GetParam());
  const auto metric = [](Training &t) {
    FeatureMoments moments(t.model, t.comm);
    t.trainer.visit({0, 1, 2, 3, 4}, [&](const Frame &frame) { moments.add(frame); });
    moments.apply();
    return t.model->features()->metric();
  };
  const FeatureMetric expected = metric(one), found = metric(all);
  EXPECT_EQ(expected.center, found.center);  // zero: that of a last hidden layer
  // a Cholesky factor amplifies rounding
  expect_close(expected.matrices, found.matrices, 1e-9);
}

TEST_P(Distributions, GivenFramesAreShared)
{
  Training one(make_mpi_communicator(), Way::space), all(world(), GetParam());
  const auto step = [](Training &t) {
    std::vector<const Frame *> frames;
    for (std::int64_t k = 0; k < t.trainer.num_frames(); ++k) frames.push_back(&t.trainer.frame(k));
    const double error = t.trainer.errors(frames).rmse("f");
    t.trainer.update(frames);
    return error;
  };
  const double expected = step(one);
  EXPECT_NEAR(step(all), expected, 1e-12 * expected);
  expect_close(one.model->parameters().values(), all.model->parameters().values(), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All, Distributions,
                         testing::Values(Way::space, Way::frames, Way::mixture));

TEST(WorkingRanks, LargestFirstToWhoHasLeast)
{
  std::vector<Frame> frames(6);
  std::vector<const Frame *> all;
  const std::int64_t atoms[6] = {10, 50, 20, 30, 40, 7};
  for (int k = 0; k < 6; ++k) {
    frames[k].natoms = atoms[k];
    frames[k].is_copy = k != 5;
    all.push_back(&frames[k]);
  }
  EXPECT_EQ(working_ranks(all, 1), std::vector<int>(6, -1));
  // 50 -> 0, 40 -> 1, 30 -> 2, 20 -> 2 (30), 10 -> 1 (40); the last one is divided by space
  EXPECT_EQ(working_ranks(all, 3), (std::vector<int>{1, 0, 2, 2, 1, -1}));
  // single frames in turn on different ranks
  std::set<int> used;
  for (std::int64_t turn = 0; turn < 3; ++turn) used.insert(working_ranks({all[0]}, 3, turn)[0]);
  EXPECT_EQ(used.size(), 3u);
}

TEST(Distributor, EveryCopyIsWorkedOnOnce)
{
  const auto comm = world();
  Distributor distributor(comm, Distribution::frames, 5, 100);
  std::vector<Frame> frames;
  std::vector<const Frame *> all;
  for (const WholeFrame &whole : whole_frames()) frames.push_back(distributor.share(whole, RCUT));
  for (const Frame &frame : frames) all.push_back(&frame);
  const BatchShares shares(all, *comm);
  for (std::size_t k = 0; k < all.size(); ++k) {
    std::int64_t atoms = shares.frames()[k]->nlocal;
    comm->all_reduce_sum(&atoms, 1);
    EXPECT_EQ(atoms, frames[k].natoms);
    EXPECT_EQ(shares.frames()[k]->label.energy, frames[k].label.energy);
  }
}

TEST(Distributor, LargeFramesGoBySpaceAndManySmallOnesByFrames)
{
  const int atoms = runs_on_gpu() ? 1000000 : 10000;
  const StepEstimate large = estimate_step(atoms, 10.0 * atoms, 6.0, 20000, 1, 4);
  EXPECT_LT(large.space, large.frames);
  const StepEstimate small = estimate_step(12, 120.0, 6.0, 20000, 8, 4);
  EXPECT_LT(small.frames, small.space);
  const auto comm = world();
  Distributor one(comm, Distribution::automatic, 1, 20000);
  EXPECT_EQ(one.share(random_frame(1, 200, cubic_box(14.0), true, 1.0), RCUT).is_copy,
            runs_on_gpu() && comm->size() > 1);
  Distributor many(comm, Distribution::automatic, 16, 20000);
  const WholeFrame tiny = random_frame(1, 12, cubic_box(5.0), true, 1.0);
  EXPECT_EQ(many.share(tiny, RCUT).is_copy, comm->size() > 1);
  const std::string reason = many.take_reason();
  EXPECT_EQ(reason.find("frames of 12 atoms, 16 in a step") != std::string::npos, comm->size() > 1);
  many.share(tiny, RCUT);
  EXPECT_EQ(many.take_reason(), "");  // said once
}

TEST(Distributor, ACopyThatCannotBeUsedIsAnErrorEverywhere)
{
  Training t(world(), Way::frames);
  Distributor distributor(t.comm, Distribution::frames, 1, 100);
  WholeFrame broken = whole_frames()[0];
  broken.label.force[4] = NAN;
  EXPECT_THROW(t.trainer.add(distributor.share(broken, RCUT)), Error);
}

TEST(ScatterFrame, BricksAreCompact)
{
  const auto comm = world();
  if (comm->size() != 4) GTEST_SKIP() << "for four ranks";
  // two cuts through a cube: a brick reaches through half of it in two directions
  const WholeFrame whole = random_frame(9, 400, cubic_box(20.0), true, 1.0);
  const Frame frame = scatter_frame(comm, whole, RCUT);
  int halves = 0;
  for (int d = 0; d < 3; ++d) {
    double low = 1e9, high = -1e9;
    for (int i = 0; i < frame.nlocal; ++i) {
      low = std::min(low, frame.x[3 * i + d]);
      high = std::max(high, frame.x[3 * i + d]);
    }
    if (high - low < 0.65 * 20.0) ++halves;
  }
  EXPECT_GE(halves, 2);
}

}  // namespace dptrain::test
