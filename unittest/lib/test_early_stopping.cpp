// Which weights a training keeps, and when it ends.

#include "training/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dptrain/base/state.h"

namespace dptrain::test {
namespace {

/// The first step, of those every `between` steps, after which a training with these errors is over.
template <class Error> std::int64_t end_of(const Error &error, std::int64_t between = 100)
{
  EarlyStopping found;
  for (std::int64_t step = between; step <= 1000000; step += between) {
    found.add(step, error(step), {static_cast<double>(step)});
    if (found.is_over()) return step;
  }
  return 0;
}

}  // namespace

TEST(EarlyStopping, KeepsTheWeightsOfTheSmallestError)
{
  EarlyStopping found;
  EXPECT_TRUE(found.empty());
  EXPECT_FALSE(found.is_over());
  const double errors[] = {0.5, 0.3, 0.299, 0.4};
  for (int k = 0; k < 4; ++k) found.add(10 * (k + 1), errors[k], {1.0 * k, 2.0});
  EXPECT_EQ(found.best_step(), 30);  // even if it is less than noise
  EXPECT_EQ(found.best_error(), 0.299);
  EXPECT_EQ(found.last_error(), 0.4);
  EXPECT_EQ(found.best_weights(), (std::vector<double>{2.0, 2.0}));
}

TEST(EarlyStopping, EndsWhenTheErrorNoLongerFalls)
{
  // best after 4000 steps: half as many more
  EXPECT_EQ(end_of([](std::int64_t s) { return 1.0 + std::abs(s - 4000) / 4000.0; }), 6000);
  // best at once: 1000 more
  EXPECT_EQ(end_of([](std::int64_t s) { return 1.0 + s / 1e4; }), 1100);
  // it falls for ever, by a third with twice the steps
  EXPECT_EQ(end_of([](std::int64_t s) { return std::pow(s, -0.58); }), 0);
  // and by less than 1 % with 1.5 times the steps
  EXPECT_GT(end_of([](std::int64_t s) { return 1.0 + std::pow(s, -0.5); }), 1000);
}

TEST(EarlyStopping, LearnsNothingFromWhatIsNotANumber)
{
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EarlyStopping found;
  for (std::int64_t step = 100; step < 5000; step += 100) found.add(step, nan, {1.0});
  EXPECT_TRUE(found.empty());
  EXPECT_FALSE(found.is_over());
  found.add(5000, 0.2, {3.0});
  EXPECT_EQ(found.best_weights(), std::vector<double>{3.0});
}

TEST(EarlyStopping, GoesOnFromItsState)
{
  EarlyStopping all, first;
  const auto error = [](std::int64_t s) { return 1.0 + std::abs(s - 2500) / 1e4; };
  for (std::int64_t step = 100; step <= 3000; step += 100) first.add(step, error(step), {1.0, 0.1});
  State state;
  state.set("early_stopping", first);
  EarlyStopping rest = state.get<EarlyStopping>("early_stopping");
  EXPECT_EQ(rest.best_weights(), first.best_weights());
  std::int64_t step = 3000;
  while (!rest.is_over()) {
    step += 100;
    rest.add(step, error(step), {2.0, 0.2});
  }
  EXPECT_EQ(step, end_of(error));
  EXPECT_EQ(rest.best_step(), 2500);
}

}  // namespace dptrain::test
