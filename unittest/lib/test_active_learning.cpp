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

Accuracy absolute(double error)
{
  return {error, false};
}

// After three such answers, whose errors are a tenth of the distance: the factor has followed the second one, which is below its bar,
// and the third, which is above it then; gain 0.5, coverage 0.9, a fifth of that for one atom.
const double grown_scale = 0.1 * std::exp(0.5 * (0.9 - 1.0) / 5.0 + 0.5 * 0.9 / 5.0);

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
  ActiveLearning learning({absolute(0.05), 0.0, 1, 1});
  EXPECT_TRUE(learning.is_early());
  EXPECT_EQ(learning.decide(10, true, 0.0, true), Ask::early);
  EXPECT_EQ(learning.decide(11, false, 1e9, true), Ask::no);
  EXPECT_FALSE(grown({absolute(0.05), 0.0, 1, 1}).is_early());
}

// Bars that came with a model hold until three labels have told others.
TEST(ActiveLearning, GivenBarsHoldAtFirst)
{
  ActiveLearning learning({absolute(0.05), 0.0, 0, 1});
  learning.set_given_bars({{0.7}, 0.9, 12, {64}, "12 frames"});
  EXPECT_FALSE(learning.is_early());
  EXPECT_EQ(learning.bars(1).scale[0], 0.7);
  for (int k = 0; k < 3; ++k) answer(learning, 1.0, 0.1);
  EXPECT_NEAR(learning.bars(1).scale[0], grown_scale, 1e-12);
  EXPECT_EQ(learning.missing_labels(), 6);  // of nine for 90 %
}

// Distances that have doubled mean half as much, given bars and what is known included.
TEST(ActiveLearning, RescalesWhatDistancesMean)
{
  ActiveLearning learning = grown({{}, 0.0, 0, 1});
  learning.set_learned({10.0, 0.0, 1.0});
  learning.rescale(0.5);
  EXPECT_EQ(learning.learned().bar, 5.0);
  EXPECT_NEAR(learning.bars(1).scale[0], 0.5 * grown_scale, 1e-12);
  EXPECT_NEAR(learning.bars(1).known_atom, 2.0, 1e-12);  // of atoms at distance 1
}

TEST(ActiveLearning, ThresholdAndLimitAreInForceUnits)
{
  const ActiveLearning learning = grown({absolute(0.05), 0.0, 0, 1});
  EXPECT_NEAR(learning.bars(1).scale[0], grown_scale, 1e-12);
  EXPECT_EQ(learning.decide(1, true, 0.49, false), Ask::no);
  EXPECT_EQ(learning.decide(1, true, 0.51, false), Ask::threshold);
  EXPECT_EQ(learning.decide(1, false, 0.51, false), Ask::no);
  EXPECT_EQ(learning.decide(1, false, 0.1, true), Ask::wall);
  EXPECT_EQ(learning.decide(1, false, 1.51, true), Ask::limit);
  EXPECT_EQ(learning.decide(1, false, std::nan(""), false), Ask::limit);
  EXPECT_EQ(grown({absolute(0.05), 0.7, 0, 1}).decide(1, false, 0.71, false), Ask::limit);
}

// A mean of one in 50 steps: 2000 expected of 100,000, standard deviation 44.
TEST(ActiveLearning, AuditsComeAtRandom)
{
  const ActiveLearning learning = grown({absolute(0.05), 0.0, 50, 7}),
                       other = grown({absolute(0.05), 0.0, 50, 8});
  int audits = 0, both = 0;
  for (int step = 0; step < 100000; ++step) {
    const bool one = learning.decide(step, true, 0.1, false) == Ask::audit;
    audits += one;
    both += one && other.decide(step, true, 0.1, false) == Ask::audit;
  }
  EXPECT_NEAR(audits, 2000, 220);
  EXPECT_NEAR(both, 40, 35);
  EXPECT_EQ(grown({absolute(0.05), 0.0, 0, 7}).decide(0, true, 0.1, false), Ask::no);
}

// Five percent of the forces, and an error bar ten times as large; the errors of the model have no say in it.
TEST(ActiveLearning, TheThresholdFollowsFromTheAccuracy)
{
  ActiveLearning learning({{}, 0.0, 0, 1});
  EXPECT_EQ(learning.threshold(), 0.0);  // of forces that nobody knows
  answer(learning, 1.0, 0.1, Ask::early, 0.8);
  EXPECT_NEAR(learning.wanted_error(), 0.04, 1e-12);
  EXPECT_NEAR(learning.threshold(), 0.4, 1e-12);
  EXPECT_NEAR(learning.limit(), 1.2, 1e-12);
  learning.set_learned({0.7, 0.03, 0.6});  // the forces of all that was learned
  EXPECT_NEAR(learning.threshold(), 0.3, 1e-12);
  answer(learning, 1.0, 0.1, Ask::early, 0.8);
  EXPECT_NEAR(learning.threshold(), 0.3, 1e-12);
  ActiveLearning given({absolute(0.05), 0.0, 0, 1});
  given.set_learned({0.7, 0.03, 0.6});
  EXPECT_EQ(given.threshold(), 0.5);
}

// What is learned has an error of 0.04, above two thirds of the 0.03 that is wanted: of twenty frames only what is new is asked for.
TEST(ActiveLearning, OutOfReachOnlyWhatIsNewIsAskedFor)
{
  ActiveLearning learning({{}, 0.0, 0, 1});
  learning.set_learned({0.4, 0.04, 0.6, 19});
  EXPECT_FALSE(learning.is_out_of_reach());
  learning.set_learned({0.4, 0.04, 0.6, 20});
  EXPECT_TRUE(learning.is_out_of_reach());
  EXPECT_NEAR(learning.threshold(), 0.6, 1e-12);  // one and a half times the largest bar there
  learning.set_learned({0.1, 0.04, 0.6, 20});
  EXPECT_NEAR(learning.threshold(), 0.3, 1e-12);  // not below that of the accuracy
  learning.set_learned({0.4, 0.019, 0.6, 20});
  EXPECT_FALSE(learning.is_out_of_reach());
  EXPECT_NEAR(learning.threshold(), 0.3, 1e-12);
}

// By one atom, or by all; relative to forces only once they are known.
TEST(ActiveLearning, AModelIsWrong)
{
  const ActiveLearning given({absolute(0.05), 0.0, 0, 1});
  EXPECT_FALSE(given.is_wrong(0.049, 0.49));
  EXPECT_TRUE(given.is_wrong(0.051, 0.1));
  EXPECT_TRUE(given.is_wrong(0.01, 0.51));
  ActiveLearning learning({{}, 0.0, 0, 1});
  EXPECT_EQ(learning.limit(), HUGE_VAL);
  answer(learning, 1.0, 0.1, Ask::early, 1e-14);  // atoms at rest
  EXPECT_FALSE(learning.is_wrong(1e-10, 1e-9));
  for (int k = 0; k < 2; ++k) answer(learning, 1.0, 0.1, Ask::early, 1.0);
  EXPECT_TRUE(learning.is_wrong(0.051, 0.1));
  EXPECT_FALSE(learning.is_wrong(0.049, 0.49));
}

TEST(ActiveLearning, TheLimitIsLowerWhereLabelsComeLate)
{
  ActiveConfig config{absolute(0.05), 0.0, 0, 1};
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
  ActiveLearning learning = grown({absolute(0.05), 0.0, 100, 1});
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
  ActiveLearning learning = grown({{}, 0.0, 100, 1}), copy({{}, 0.0, 100, 1});
  learning.set_learned({0.7, 0.2, 1.3});
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
  const State whole = state_of(grown({absolute(0.05), 0.0, 100, 1}));
  State without;
  whole.for_each([&](const std::string &name, const auto &value) {
    if (name != "force") without.set(name, value);
  });
  ActiveLearning learning({absolute(0.05), 0.0, 100, 1});
  without.set_place("si.dp: dptrain_bars/");
  expect_in("si.dp: dptrain_bars/force is missing", message_of([&] { without.read(learning); }));
}

// Errors that are larger where larger ones are expected, or smaller there; a bar without end is left out.
TEST(ActiveLearning, RankCorrelationOfTheLatestAnswers)
{
  ActiveLearning learning = grown({absolute(0.05), 0.0, 0, 1});
  EXPECT_EQ(ActiveLearning({absolute(0.05), 0.0, 0, 1}).rank_correlation(), 0.0);
  for (int k = 1; k <= 50; ++k) answer(learning, k, 0.1);
  EXPECT_NEAR(learning.rank_correlation(), 1.0, 1e-12);
  for (int k = 0; k < 50; ++k)  // large where small is expected
    learning.compare({k % 2 ? 1.0 : 9.0, k % 2 ? 3.0 : 1.0, {}}, Ask::threshold, 1.0);
  EXPECT_LT(learning.rank_correlation(), -0.5);
  const double before = learning.rank_correlation();
  learning.compare({HUGE_VAL, 1.0, {}}, Ask::limit, 1.0);
  EXPECT_EQ(learning.rank_correlation(), before);
}

// What a damaged checkpoint may hold: numbers that are no numbers or negative, and lists of other lengths.
TEST(ActiveLearning, ADamagedStateIsRefused)
{
  ActiveLearning learning = grown({absolute(0.05), 0.0, 100, 1});
  answer(learning, 2.0, 0.2, Ask::audit);
  const State good = state_of(learning);
  ActiveLearning copy({absolute(0.05), 0.0, 100, 1});
  const State before = state_of(copy);
  const auto refuses = [&](const std::string &name, const auto &value) {
    State damaged = good;
    damaged.set(name, value);
    EXPECT_THROW(damaged.read(copy), Error) << name;
  };
  for (const double bad : {std::nan(""), HUGE_VAL, -2.0}) {
    refuses("force", bad);
    refuses("learned", LearnedFrames{0.7, bad, 1.3});
  }
  for (const char *name : {"expected", "found"})
    for (const double bad : {std::nan(""), HUGE_VAL, -2.0})
      refuses(name, std::vector<double>(good.at<std::vector<double>>(name).size(), bad));
  for (const char *name : {"answers", "audits", "audits_above", "audits_far_above"})
    refuses(name, -1);
  refuses("found", std::vector<double>{1.0});  // fewer than expected ones
  EXPECT_EQ(state_of(copy), before);
  good.read(copy);
  EXPECT_EQ(state_of(copy), good);
}

}  // namespace
}  // namespace dptrain::test
