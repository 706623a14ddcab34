// When a run goes back, how far, and what it remembers on the way.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dptrain/session/recovery/state_history.h"
#include "session/recovery/self_healing.h"

namespace dptrain::test {
namespace {

constexpr double kelvin = 1.5 * 8.617333e-5;  // eV for each atom

TEST(StateHistory, KeepsManyLateStatesAndFewEarlyOnes)
{
  StateHistory<std::int64_t> history;
  for (std::int64_t n = 0; n < 1000; ++n) {
    const std::int64_t step = 7 + 10 * n;
    ASSERT_TRUE(history.is_due(step));
    history.add(step, n);
    ASSERT_FALSE(history.is_due(step + 9));
    ASSERT_LE(history.size(), 8u);
    // the rule, state by state
    std::vector<std::int64_t> kept;
    for (std::int64_t m = 0; m <= n; ++m) {
      const std::int64_t age = n - m;
      if (age < 2 || (m % 4 == 0 && age < 8) || (m % 16 == 0 && age < 32) ||
          (m % 64 == 0 && age < 128))
        kept.push_back(7 + 10 * m);
    }
    ASSERT_EQ(history.steps(), kept) << n;
    // there is always one of about each age
    for (const std::int64_t age : {1, 4, 16, 64}) {
      const auto is_of_age = [&](std::int64_t kept_step) {
        const std::int64_t now = n - (kept_step - 7) / 10;
        return now >= age && now < 2 * age;
      };
      ASSERT_TRUE(n < 2 * age || std::any_of(kept.begin(), kept.end(), is_of_age))
          << n << " " << age;
    }
  }
}

TEST(StateHistory, GoesBackAndForgetsWhatCameLater)
{
  StateHistory<std::string> history;
  EXPECT_EQ(history.go_back(100), nullptr);
  for (const std::int64_t step : {10, 20, 30}) history.add(step, "s" + std::to_string(step));
  EXPECT_EQ(history.go_back(29)->state, "s20");
  EXPECT_EQ(history.go_back(1000)->state, "s20");  // 30 is forgotten
  EXPECT_EQ(history.go_back(20)->step, 20);
  EXPECT_EQ(history.go_back(5)->state, "s10");  // the first one stays
  EXPECT_EQ(history.go_back(5)->state, "s10");
  EXPECT_TRUE(history.is_due(20));
  history.clear();
  EXPECT_EQ(history.go_back(1000), nullptr);
}

RunCondition at(double temperature, double volume = 1000.0, double closest = 2.0)
{
  return {temperature * kelvin, volume, closest};
}

TEST(TroubleWatch, ComparesWithWhatWasAWhileAgo)
{
  TroubleWatch watch;
  watch.add(-1, RunCondition(), false);
  EXPECT_EQ(watch.look(at(1e6), {}), "");  // nothing is known
  watch.add(0, at(3000.0), false);
  EXPECT_EQ(watch.look(at(5990.0), {}), "");
  EXPECT_EQ(watch.look(at(6010.0), {}), "the temperature is 6010 K, and was 3000 K");
  // what grows a little with each step is noticed all the same
  bool noticed = false;
  for (int step = 1; step <= 60; ++step) {
    const RunCondition now = at(3000.0 * std::pow(1.03, step));
    noticed = noticed || !watch.look(now, {}).empty();
    watch.add(step, now, false);
  }
  EXPECT_TRUE(noticed);
}

TEST(TroubleWatch, LetsARunHeatUpSlowly)
{
  TroubleWatch watch;
  for (int step = 0; step < 3000; ++step) {
    const RunCondition now = at(10.0 + 1.5 * step);
    ASSERT_EQ(watch.look(now, {}), "") << step;
    watch.add(step, now, false);
  }
  watch.begin();
  watch.add(0, at(1.0), false);  // a cold start is no measure
  EXPECT_EQ(watch.look(at(1999.0), {}), "");
  EXPECT_NE(watch.look(at(2002.0), {}), "");
  watch.add(1, at(5000.0), true);  // as the reference moves the atoms
  EXPECT_EQ(watch.look(at(9000.0), {}), "");
}

TEST(TroubleWatch, ForgetsTheWayThatWasGoneBack)
{
  TroubleWatch watch;
  watch.add(0, at(1000.0), false);
  for (int step = 1; step <= 50; ++step) watch.add(step, at(2500.0), false);
  watch.go_back(20);
  watch.add(115, at(1000.0), false);  // step 15 counts by now
  EXPECT_EQ(watch.look(at(4400.0), {}), "");
  TroubleWatch other;
  other.add(0, at(1000.0), false);
  for (int step = 1; step <= 50; ++step) other.add(step, at(2500.0), false);
  other.go_back(0);
  other.add(140, at(1000.0), false);
  EXPECT_NE(other.look(at(4400.0), {}), "");
}

TEST(TroubleWatch, SeesVolumesAndDistances)
{
  TroubleWatch watch;
  EXPECT_EQ(watch.look(at(300.0, 1000.0, 0.1), {}), "");
  watch.add_label(at(300.0, 1000.0, 2.0));
  watch.add_label(at(300.0, 1000.0, 2.5));
  watch.add_label(at(300.0, 1000.0, 0.0));  // not known
  EXPECT_EQ(watch.look(at(300.0, 1000.0, 1.41), {}), "");
  EXPECT_EQ(watch.look(at(300.0, 1000.0, 0.0), {}), "");
  UnitFactors nano;
  nano.length = 0.1;
  EXPECT_EQ(watch.look(at(300.0, 1000.0, 1.39), nano),
            "atoms are 0.139 apart, and were 0.2 at least");
  watch.add(0, at(300.0, 1000.0), false);
  EXPECT_EQ(watch.look(at(300.0, 1990.0), {}), "");
  EXPECT_EQ(watch.look(at(300.0, 2010.0), nano), "the volume is 2.01, and was 1");
  EXPECT_NE(watch.look(at(300.0, 490.0), {}), "");
  watch.begin();
  EXPECT_EQ(watch.look(at(300.0, 490.0), {}), "");
}

/// A run of which only the way back is of interest.
class Course final : public Trajectory {
 public:
  std::int64_t now = 0;
  RunCondition state = at(1000.0);
  StateHistory<int> history;
  std::vector<std::int64_t> asked;  // steps that go_back was called with
  int number = 0;

  std::int64_t step() const override { return now; }
  std::int64_t natoms() const override { return 1; }
  bool has_bars() const override { return true; }
  std::vector<double> bars() const override { return {}; }
  std::vector<double> all_bars() override { return {}; }
  std::vector<double> feature_sum() const override { return {}; }
  double energy() const override { return 0.0; }
  std::vector<double> forces() override { return {}; }
  WholeFrame configuration() override { return {}; }
  void evaluate_again() override {}
  void follow_model() override {}
  void follow(const Label &) override {}
  RunCondition condition() const override { return state; }
  void trust() override
  {
    if (history.is_due(now)) history.add(now, 0);
  }
  std::optional<std::int64_t> go_back(std::int64_t before, int n) override
  {
    asked.push_back(before);
    number = n;
    const auto *entry = history.go_back(before);
    return entry ? std::optional(entry->step) : std::nullopt;
  }
};

class SelfHealingTest : public testing::Test {
 protected:
  std::string log_;
  Course run_;
  Messages messages()
  {
    const auto say = [this](const std::string &text) { log_ += text + "\n"; };
    return {say, say, say};
  }
  /// Goes on for so many steps at a temperature; true at the first return, or else false.
  bool go(SelfHealing &healing, int steps, double temperature = 1000.0, bool fine = true)
  {
    for (int k = 0; k < steps; ++k) {
      ++run_.now;
      run_.state = at(temperature);
      SelfHealing::Step step;
      step.answered = healing.look(run_);
      step.fine = fine;
      step.model_moves = true;
      if (healing.finish(run_, step)) return true;
    }
    return false;
  }
};

TEST_F(SelfHealingTest, GoesBackFurtherWhereTheTroubleComesAgain)
{
  SelfHealing healing(3, {}, messages());
  EXPECT_FALSE(go(healing, 400));
  EXPECT_TRUE(go(healing, 1, 9000.0));  // step 401
  EXPECT_EQ(run_.asked.back(), 391);
  EXPECT_EQ(run_.history.steps().back(), 391);
  EXPECT_EQ(log_, "step 401: the temperature is 9000 K, and was 1000 K; back to the state of step "
                  "391, rewind 1 of 3\n");
  EXPECT_FALSE(go(healing, 30));
  EXPECT_TRUE(go(healing, 1, 9000.0));  // step 432: the same trouble
  EXPECT_EQ(run_.asked.back(), 390);
  const std::int64_t state = run_.history.steps().back();
  EXPECT_LT(state, 391);
  EXPECT_FALSE(go(healing, 300));  // another one
  EXPECT_TRUE(go(healing, 1, 9000.0));
  EXPECT_EQ(run_.asked.back(), run_.now - 10);
  EXPECT_EQ(run_.number, 3);
  EXPECT_FALSE(healing.is_on());
  EXPECT_EQ(healing.done(), 3);
  EXPECT_FALSE(go(healing, 10, 9000.0));
  EXPECT_FALSE(healing.rescue(run_, "atoms lost"));
  EXPECT_EQ(healing.refusal(), "all 3 rewinds are used");
}

TEST_F(SelfHealingTest, AsksOnTheWayAfterAReturn)
{
  SelfHealing healing(2, {}, messages());
  EXPECT_FALSE(go(healing, 100));
  EXPECT_TRUE(go(healing, 1, 9000.0));
  std::vector<std::int64_t> asked;
  run_.state = at(1000.0);
  for (run_.now = 102; run_.now < 200; ++run_.now)
    if (healing.look(run_)) asked.push_back(run_.now);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{106, 111, 116, 121}));  // 20 steps to the place
}

TEST_F(SelfHealingTest, AnswersMayBeTrouble)
{
  SelfHealing healing(5, {}, messages());
  const auto end = [&] { return healing.finish(run_, {true, true, true}); };
  EXPECT_FALSE(go(healing, 100));
  run_.now = 120;
  healing.compare(120, 0.3, 0.9, 1.0);  // below the limit
  EXPECT_FALSE(end());
  healing.compare(112, 0.3, 1.1, 1.0);  // an answer that comes late
  EXPECT_TRUE(healing.is_outlier(112, 5.1, 1.0));
  EXPECT_FALSE(healing.is_outlier(112, 4.9, 1.0));
  EXPECT_FALSE(healing.is_outlier(112, 4.9, 0.0));
  EXPECT_TRUE(end());
  EXPECT_EQ(run_.asked.back(), 102);
  EXPECT_NE(log_.find("step 120: the force error of an atom is 1.1, expected were 0.3, and the "
                      "limit is 1; back"),
            std::string::npos);
  EXPECT_FALSE(healing.is_outlier(121, 100.0, 1.0));  // the trouble is over
  EXPECT_TRUE(healing.is_outlier(115, 100.0, 1.0));   // but not on the way that was left
  healing.compare(115, 0.3, 50.0, 1.0);               // an answer about it is no new one
  EXPECT_FALSE(end());
  run_.now = 121;
  healing.compare(121, 1.1, 2.3, 1.0);  // was expected, but not in time
  EXPECT_TRUE(end());
  run_.now = 300;
  EXPECT_FALSE(healing.finish(run_, {true, true, false}));
  healing.compare(301, 0.3, 5.0, 1.0);  // where the reference has moved the atoms
  EXPECT_FALSE(end());
}

TEST_F(SelfHealingTest, NeedsAState)
{
  SelfHealing healing(1, {}, messages());
  EXPECT_FALSE(go(healing, 100, 1000.0, false));  // never fine
  EXPECT_FALSE(healing.rescue(run_, "atoms lost"));
  EXPECT_FALSE(healing.rescue(run_, "atoms lost"));
  EXPECT_EQ(log_, "step 100: atoms lost; there is no trusted state yet to go back to\n");
  EXPECT_EQ(healing.refusal(), "there is no trusted state yet to go back to");
  EXPECT_FALSE(go(healing, 20));
  EXPECT_TRUE(healing.rescue(run_, "atoms lost"));
  EXPECT_EQ(healing.refusal(), "the one rewind is used");
}

TEST_F(SelfHealingTest, IsOffWithoutRewinds)
{
  SelfHealing healing(0, {}, messages());
  EXPECT_FALSE(go(healing, 100));
  EXPECT_FALSE(go(healing, 10, 1e6));
  EXPECT_EQ(run_.history.size(), 0u);
  EXPECT_EQ(log_, "");
}

}  // namespace
}  // namespace dptrain::test
