// Which charges a search finds from errors of trainings that are known.
#include <gtest/gtest.h>

#include <cmath>

#include "session/learning/charge_search.h"

namespace dptrain::test {
namespace {

// What is left after trainings, where the charges are `truth` times the oxidation numbers.
ChargeSearch::Result search(double truth, double left)
{
  return ChargeSearch::search(
      [=](double scale) { return std::hypot(left, 0.1 * (scale * scale - truth * truth)); });
}

TEST(ChargeSearch, FindsTheSmallestError)
{
  for (const double truth : {0.45, 0.55, 0.7, 0.85, 1.0, 1.1, 1.3}) {
    const auto found = search(truth, 0.001);
    ASSERT_TRUE(found.scale);
    EXPECT_NEAR(*found.scale, truth, 5e-4);  // as it is rounded
    EXPECT_LE(found.trials.size(), 4);
  }
  EXPECT_EQ(*search(3.0, 0.0).scale, 1.5);  // far from what was tried
}

TEST(ChargeSearch, TakesTheBestWhereThereIsNoParabola)
{
  const auto found = ChargeSearch::search([](double scale) {
    return scale == 0.0 ? 1.1 : scale == 0.5 ? 1.0 : scale == 1.0 ? 0.95 : 0.7;
  });
  EXPECT_EQ(*found.scale, 1.25);
}

TEST(ChargeSearch, HasNoneWhereTheyDoNotPay)
{
  for (const double truth : {0.0, 0.2, 0.3}) {
    const auto found = search(truth, 0.001);
    EXPECT_FALSE(found.scale) << truth;
    EXPECT_EQ(found.trials.size(), 3);
  }
  EXPECT_FALSE(search(0.0, 0.001).is_open());
  EXPECT_FALSE(ChargeSearch::search([](double scale) { return std::nan("") + scale; }).scale);
}

TEST(ChargeSearch, IsOpenWhereTheyPayByLittle)
{
  const auto found = search(0.6, 0.1);  // smaller by a few percent alone
  EXPECT_FALSE(found.scale);
  EXPECT_TRUE(found.is_open());
  EXPECT_FALSE(search(0.6, 0.001).is_open());
}

}  // namespace
}  // namespace dptrain::test
