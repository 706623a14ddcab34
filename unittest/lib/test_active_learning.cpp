// When the reference is asked, and how large errors are expected.

#include "dptrain/uncertainty/active_learning.h"

#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/base/error.h"
#include "dptrain/base/state.h"
#include "support/scratch.h"

namespace dptrain::test {
namespace {

// A configuration of one atom at this distance, whose error is `factor` times it and was expected to be a tenth of it.
void answer(ActiveLearning &learning, double distance, double factor, Ask ask = Ask::threshold,
            double force = 10.0)
{
  const double error = factor * distance;
  learning.compare({0.1 * distance, error, {{0}, {distance}, {0.1 * distance}, {error}}}, ask,
                   force);
}

// Whose errors are a tenth of the distance.
ActiveLearning grown(const ActiveConfig &config)
{
  ActiveLearning learning(config);
  for (int k = 0; k < 3; ++k) answer(learning, 1.0, 0.1, Ask::early);
  return learning;
}

TEST(BarCalibration, RankCorrelation)
{
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 1000}), 1.0, 1e-15);
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1.0, 1e-15);
  // ranks 0, 1.5, 1.5, 3 and 0, 1, 3, 2: covariance 3, variances 4.5 and 5 (times 4)
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 4, 3}), 3.0 / std::sqrt(4.5 * 5.0), 1e-15);
  EXPECT_EQ(rank_correlation({1, 1, 1}, {1, 2, 3}), 0.0);
}

TEST(ActiveLearning, ANewModelIsLabeledAtDueSteps)
{
  ActiveLearning learning({0.5, 0.0, 1, 1});
  EXPECT_TRUE(learning.is_early());
  EXPECT_EQ(learning.decide(10, true, 0.0, true), Ask::early);
  EXPECT_EQ(learning.decide(11, false, 1e9, true), Ask::no);
  EXPECT_FALSE(grown({0.5, 0.0, 1, 1}).is_early());
}

// Bars that came with a model hold until three labels have told others.
TEST(ActiveLearning, GivenBarsHoldAtFirst)
{
  ActiveLearning learning({0.5, 0.0, 0, 1});
  learning.set_given_bars({{0.7}, 0.9, 12, {64}, "12 frames"});
  EXPECT_FALSE(learning.is_early());
  EXPECT_EQ(learning.bars(1).scale[0], 0.7);
  for (int k = 0; k < 3; ++k) answer(learning, 1.0, 0.1);
  EXPECT_NEAR(learning.bars(1).scale[0], 0.1, 1e-12);
  EXPECT_EQ(learning.missing_labels(), 6);  // of nine for 90 %
}

// Distances that have doubled mean half as much, given bars and what is known included.
TEST(ActiveLearning, RescalesWhatDistancesMean)
{
  ActiveLearning learning = grown({0.0, 0.0, 0, 1});
  learning.set_known_bar(10.0);
  const double threshold = learning.threshold();
  learning.rescale(0.5);
  EXPECT_NEAR(learning.bars(1).scale[0], 0.05, 1e-12);
  EXPECT_NEAR(learning.bars(1).known_atom, 2.0, 1e-12);  // of atoms at distance 1
  EXPECT_LE(learning.threshold(), threshold);
}

TEST(ActiveLearning, ThresholdAndLimitAreInForceUnits)
{
  const ActiveLearning learning = grown({0.5, 0.0, 0, 1});
  EXPECT_NEAR(learning.bars(1).scale[0], 0.1, 1e-12);
  EXPECT_EQ(learning.decide(1, true, 0.49, false), Ask::no);
  EXPECT_EQ(learning.decide(1, true, 0.51, false), Ask::threshold);
  EXPECT_EQ(learning.decide(1, false, 0.51, false), Ask::no);
  EXPECT_EQ(learning.decide(1, false, 0.1, true), Ask::wall);
  EXPECT_EQ(learning.decide(1, false, 1.51, true), Ask::limit);
  EXPECT_EQ(learning.decide(1, false, std::nan(""), false), Ask::limit);
  EXPECT_EQ(grown({0.5, 0.7, 0, 1}).decide(1, false, 0.71, false), Ask::limit);
}

// A mean of one in 50 steps: 2000 expected of 100,000, standard deviation 44.
TEST(ActiveLearning, AuditsComeAtRandom)
{
  const ActiveLearning learning = grown({0.5, 0.0, 50, 7}), other = grown({0.5, 0.0, 50, 8});
  int audits = 0, both = 0;
  for (int step = 0; step < 100000; ++step) {
    const bool one = learning.decide(step, true, 0.1, false) == Ask::audit;
    audits += one;
    both += one && other.decide(step, true, 0.1, false) == Ask::audit;
  }
  EXPECT_NEAR(audits, 2000, 220);
  EXPECT_NEAR(both, 40, 35);
  EXPECT_EQ(grown({0.5, 0.0, 0, 7}).decide(0, true, 0.1, false), Ask::no);
}

TEST(ActiveLearning, AutomaticThresholdFollowsWhatIsKnown)
{
  ActiveLearning learning({0.0, 0.0, 0, 1});
  answer(learning, 1.0, 0.1, Ask::early, 0.8);
  EXPECT_EQ(learning.threshold(), 0.8);  // nothing known yet: the size of the forces
  learning.set_known_bar(1.0);
  EXPECT_EQ(learning.threshold(), 0.8);  // a new and poor model is bounded by it
  learning.set_known_bar(0.4);
  EXPECT_NEAR(learning.threshold(), 0.6, 1e-12);  // one and a half times 0.4
  EXPECT_NEAR(learning.limit(), 1.8, 1e-12);
  learning.set_known_bar(0.1);
  EXPECT_NEAR(learning.threshold(), 0.2, 1e-12);  // a quarter of the forces
  for (int k = 0; k < 50; ++k) answer(learning, 1.0, 0.1, Ask::threshold, 0.8);
  learning.set_known_bar(1.0);
  EXPECT_NEAR(learning.threshold(), 1.5, 1e-12);  // no longer new
}

TEST(ActiveLearning, TheLimitIsLowerWhereLabelsComeLate)
{
  ActiveConfig config{0.5, 0.0, 0, 1};
  config.late = true;
  ActiveLearning learning(config);
  EXPECT_EQ(learning.limit(), 0.75);
  for (int k = 0; k < 50; ++k) answer(learning, 1.0, 0.1, Ask::threshold, 0.8);
  EXPECT_EQ(learning.limit(), 1.5);  // no longer growing
  config.limit = 0.9;
  EXPECT_EQ(ActiveLearning(config).limit(), 0.9);  // given
}

TEST(ActiveLearning, CountsWhatAuditsFind)
{
  ActiveLearning learning = grown({0.5, 0.0, 100, 1});
  answer(learning, 1.0, 0.1, Ask::audit);
  answer(learning, 1.0, 0.6, Ask::audit);
  answer(learning, 1.0, 1.6, Ask::audit);
  EXPECT_EQ(learning.audits(), 3);
  EXPECT_EQ(learning.audits_above(), 2);
  EXPECT_EQ(learning.audits_far_above(), 1);
  EXPECT_EQ(learning.coverage().atoms(), 6);  // the last two are above their bars
  EXPECT_NEAR(learning.coverage().found(), 4.0 / 6.0, 1e-12);
}

TEST(ActiveLearning, AStateGoesOnTheSame)
{
  ActiveLearning learning = grown({0.0, 0.0, 100, 1}), copy({0.0, 0.0, 100, 1});
  learning.learned(0.3);
  learning.set_known_bar(0.7);
  answer(learning, 2.0, 0.2, Ask::audit);
  const State state = state_of(learning);
  state.read(copy);
  EXPECT_EQ(state_of(copy), state);
  EXPECT_EQ(copy.threshold(), learning.threshold());
  EXPECT_EQ(copy.bars(1), learning.bars(1));
  EXPECT_EQ(copy.rank_correlation(), learning.rank_correlation());
  EXPECT_EQ(copy.audits(), 1);
}

// What is missing is asked for by name.
TEST(ActiveLearning, ReadsItsStateByName)
{
  const State whole = state_of(grown({0.5, 0.0, 100, 1}));
  State without;
  whole.for_each([&](const std::string &name, const auto &value) {
    if (name != "known_bar") without.set(name, value);
  });
  ActiveLearning learning({0.5, 0.0, 100, 1});
  without.set_place("si.dp: dptrain_bars/");
  expect_in("si.dp: dptrain_bars/known_bar is missing",
            message_of([&] { without.read(learning); }));
}

// Errors that are larger where larger ones are expected, or smaller there; a bar without end is left out.
TEST(ActiveLearning, RankCorrelationOfTheLatestAnswers)
{
  ActiveLearning learning = grown({0.5, 0.0, 0, 1});
  EXPECT_EQ(ActiveLearning({0.5, 0.0, 0, 1}).rank_correlation(), 0.0);
  for (int k = 1; k <= 50; ++k) answer(learning, k, 0.1);
  EXPECT_NEAR(learning.rank_correlation(), 1.0, 1e-12);
  for (int k = 0; k < 50; ++k)  // large where small is expected
    learning.compare({k % 2 ? 1.0 : 9.0, k % 2 ? 3.0 : 1.0, {}}, Ask::threshold, 1.0);
  EXPECT_LT(learning.rank_correlation(), -0.5);
  const double before = learning.rank_correlation();
  learning.compare({HUGE_VAL, 1.0, {}}, Ask::limit, 1.0);
  EXPECT_EQ(learning.rank_correlation(), before);
}

TEST(ActiveLearning, ReachedErrorIsAMedianOfTheLatest)
{
  ActiveLearning learning = grown({0.5, 0.0, 0, 1});
  EXPECT_EQ(learning.reached_error(), 0.0);
  for (const double error :
       {9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.2})
    learning.learned(error);
  EXPECT_EQ(learning.reached_error(), 0.2);
}

// What a damaged checkpoint may hold: numbers that are no numbers or negative, and lists of other lengths.
TEST(ActiveLearning, ADamagedStateIsRefused)
{
  ActiveLearning learning = grown({0.5, 0.0, 100, 1});
  answer(learning, 2.0, 0.2, Ask::audit);
  const State good = state_of(learning);
  ActiveLearning copy({0.5, 0.0, 100, 1});
  const State before = state_of(copy);
  const auto refuses = [&](const std::string &name, const auto &value) {
    State damaged = good;
    damaged.set(name, value);
    EXPECT_THROW(damaged.read(copy), Error) << name;
  };
  for (const char *name : {"force", "known_bar"})
    for (const double bad : {std::nan(""), HUGE_VAL, -2.0}) refuses(name, bad);
  for (const char *name : {"reached", "expected", "found"})
    for (const double bad : {std::nan(""), HUGE_VAL, -2.0})
      refuses(name, std::vector<double>(good.at<std::vector<double>>(name).size(), bad));
  for (const char *name : {"answers", "audits", "audits_above", "audits_far_above"})
    refuses(name, -1);
  refuses("found", std::vector<double>{1.0});  // fewer than expected ones
  refuses("reached", std::vector<double>(11, 1.0));
  EXPECT_EQ(state_of(copy), before);
  good.read(copy);
  EXPECT_EQ(state_of(copy), good);
}

}  // namespace
}  // namespace dptrain::test
