// Batches of a data set: sizes and probabilities by DeePMD-kit's rules, epochs, continuation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "data/batch_plan.h"
#include "dptrain/base/error.h"
#include "dptrain/base/state.h"
#include "dptrain/data/data_set.h"
#include "dptrain/frames/whole_frame.h"

using namespace dptrain;

namespace {

/// Frames with numbers of atoms only.
class Counted : public DataSystem {
 public:
  explicit Counted(std::vector<std::int64_t> natoms) : natoms_(std::move(natoms)) {}
  const std::string &name() const override { return name_; }
  std::int64_t num_frames() const override { return static_cast<std::int64_t>(natoms_.size()); }
  std::int64_t natoms(std::int64_t frame) const override { return natoms_.at(frame); }
  bool same_atoms() const override
  {
    return std::adjacent_find(natoms_.begin(), natoms_.end(), std::not_equal_to<>()) ==
           natoms_.end();
  }
  WholeFrame read(std::int64_t) const override { return {}; }

 private:
  std::string name_ = "counted";
  std::vector<std::int64_t> natoms_;
};

std::shared_ptr<const DataSystem> system_of(std::int64_t frames, std::int64_t natoms)
{
  return std::make_shared<Counted>(std::vector<std::int64_t>(frames, natoms));
}

DataConfig config_of(BatchSize::Rule rule, std::int64_t number)
{
  DataConfig config;
  config.batch_size.rule = rule;
  config.batch_size.number = number;
  return config;
}

using Sizes = std::vector<std::int64_t>;

}  // namespace

TEST(BatchPlan, SizesFollowDeepmdsRules)
{
  const Systems systems{system_of(10, 192), system_of(10, 10), system_of(10, 3)};
  const auto sizes = [&](BatchSize::Rule rule, std::int64_t number) {
    return BatchPlan(config_of(rule, number), systems, 1).batch_sizes();
  };
  EXPECT_EQ(sizes(BatchSize::Rule::fixed, 2), (Sizes{2, 2, 2}));
  EXPECT_EQ(sizes(BatchSize::Rule::at_least, 32), (Sizes{1, 4, 11}));  // ceil(32 / natoms)
  EXPECT_EQ(sizes(BatchSize::Rule::at_most, 32), (Sizes{1, 3, 10}));   // floor, at least one
  DataConfig list = config_of(BatchSize::Rule::per_system, 0);
  list.batch_size.list = {1, 2, 3};
  EXPECT_EQ(BatchPlan(list, systems, 1).batch_sizes(), (Sizes{1, 2, 3}));
  list.batch_size.list = {1, 2};
  EXPECT_THROW(BatchPlan(list, systems, 1), Error);
}

TEST(BatchPlan, UnequalFramesCountWithTheirMeanSize)
{
  const Systems systems{std::make_shared<Counted>(std::vector<std::int64_t>{8, 16, 24})};
  EXPECT_EQ(BatchPlan(config_of(BatchSize::Rule::at_least, 32), systems, 1).batch_sizes(),
            (Sizes{2}));
}

TEST(BatchPlan, EveryFrameComesOnceInAnEpochAndTheLastBatchIsSmaller)
{
  const Systems systems{system_of(7, 5)};
  BatchPlan plan(config_of(BatchSize::Rule::fixed, 3), systems, 4);
  EXPECT_EQ(plan.batches(), (Sizes{3}));
  EXPECT_EQ(plan.steps_per_epoch(), 3);
  std::vector<std::vector<std::int64_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int64_t> seen;
    for (std::size_t size : {3, 3, 1}) {
      const auto batch = plan.next();
      EXPECT_EQ(batch.size(), size);
      for (const FrameId &id : batch) seen.push_back(id.frame);
    }
    EXPECT_EQ(std::set<std::int64_t>(seen.begin(), seen.end()).size(), 7u);
    orders.push_back(seen);
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(BatchPlan, ABatchIsAllFramesWhereTheSystemIsSmallerThanTheBatch)
{
  BatchPlan plan(config_of(BatchSize::Rule::fixed, 10), {system_of(2, 5)}, 1);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(plan.next().size(), 2u);
}

TEST(BatchPlan, SystemsComeWithTheirProbabilities)
{
  const Systems systems{system_of(10, 1), system_of(30, 1), system_of(60, 1)};
  BatchPlan plan(config_of(BatchSize::Rule::fixed, 1), systems, 11);
  std::map<std::size_t, int> count;
  constexpr int draws = 20000;
  for (int k = 0; k < draws; ++k) ++count[plan.next().front().system];
  // four standard deviations of a binomial distribution are below 0.0142
  EXPECT_NEAR(count[0] / double(draws), 0.1, 0.0142);
  EXPECT_NEAR(count[1] / double(draws), 0.3, 0.0142);
  EXPECT_NEAR(count[2] / double(draws), 0.6, 0.0142);
}

TEST(BatchPlan, ProbabilitiesFollowDeepmdsStyles)
{
  const Sizes batches{10, 30, 60};
  DataConfig config;
  const auto probabilities = [&] { return system_probabilities(config, batches); };
  const auto expect = [&](const std::vector<double> &wanted) {
    const auto found = probabilities();
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_DOUBLE_EQ(found[k], wanted[k]);
  };
  expect({0.1, 0.3, 0.6});
  config.auto_prob = "prob_uniform";
  expect({1.0 / 3, 1.0 / 3, 1.0 / 3});
  config.auto_prob = "prob_sys_size;0:1:0.5;1:3:1.5";
  expect({0.25, 0.25, 0.5});
  for (const char *bad :
       {"prob_sys_size;0:4:1", "prob_sys_size;1:1:1", "prob_sys_size;0:1:-1", "prob_sys_size;0:1",
        "prob_sys_size;0:3:0", "prob_sys_size;0:2:1;1:3:1", "prob"}) {
    config.auto_prob = bad;
    EXPECT_THROW(probabilities(), Error) << bad;
  }
  config.sys_probs = {0.5, 0.25, 0.25};
  expect({0.5, 0.25, 0.25});
  config.sys_probs = {0.5, -1.0, -1.0};
  expect({0.5, 0.5 * 30 / 90, 0.5 * 60 / 90});
  config.sys_probs = {0.5, 0.7, -1.0};
  EXPECT_THROW(probabilities(), Error);
  config.sys_probs = {0.5, 0.1, 0.1};
  EXPECT_THROW(probabilities(), Error);
  config.sys_probs = {1.0};
  EXPECT_THROW(probabilities(), Error);
}

TEST(BatchPlan, AnEpochLastsUntilTheRarestSystemHasBeenSeen)
{
  DataConfig config = config_of(BatchSize::Rule::fixed, 1);
  config.sys_probs = {0.9, 0.1};
  BatchPlan plan(config, {system_of(9, 1), system_of(5, 1)}, 1);
  EXPECT_EQ(plan.steps_per_epoch(), 50);  // max(9 / 0.9, 5 / 0.1)
}

TEST(BatchPlan, MixedBatchesDrawFromAllSystems)
{
  BatchPlan plan(config_of(BatchSize::Rule::mixed, 8), {system_of(20, 3), system_of(20, 5)}, 5);
  EXPECT_EQ(plan.steps_per_epoch(), 5);
  std::set<std::size_t> seen;
  for (int k = 0; k < 4; ++k) {
    const auto batch = plan.next();
    EXPECT_EQ(batch.size(), 8u);
    for (const FrameId &id : batch) seen.insert(id.system);
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST(BatchPlan, AContinuedPlanGoesOnWithTheSameFrames)
{
  const Systems systems{system_of(7, 5), system_of(11, 5)};
  const DataConfig config = config_of(BatchSize::Rule::fixed, 2);
  BatchPlan plan(config, systems, 3);
  for (int k = 0; k < 25; ++k) plan.next();
  BatchPlan other(config, systems, 3);
  ASSERT_TRUE(other.go_to(plan.position()));
  for (int k = 0; k < 25; ++k) {
    const auto a = plan.next(), b = other.next();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t n = 0; n < a.size(); ++n) {
      EXPECT_EQ(a[n].system, b[n].system);
      EXPECT_EQ(a[n].frame, b[n].frame);
    }
  }
  BatchPlan different(config, {system_of(7, 5), system_of(12, 5)}, 3);
  EXPECT_FALSE(different.go_to(plan.position()));
  BatchPlan fewer(config, {system_of(7, 5)}, 3);
  EXPECT_FALSE(fewer.go_to(plan.position()));
  BatchPlan::Position found;
  State damaged = state_of(plan.position());
  damaged.set("epochs", std::vector<double>{1.0});
  EXPECT_THROW(damaged.read(found), Error);
  for (const double wrong : {-2.0, 1e300, std::nan("")}) {
    for (const char *name : {"epochs", "positions"}) {
      damaged = state_of(plan.position());
      damaged.set(name, std::vector<double>{0.0, wrong});
      EXPECT_THROW(damaged.read(found), Error) << name << " " << wrong;
    }
  }
  EXPECT_TRUE(found.frames.empty());  // what was refused has changed nothing
}
