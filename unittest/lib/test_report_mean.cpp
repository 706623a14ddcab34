// Means of the errors of several batches, as rows of the learning curve show them.

#include "dptrain/training/trainer.h"
#include "training/report_mean.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dptrain/base/error.h"

namespace dptrain {
namespace {

const double NONE = std::numeric_limits<double>::quiet_NaN();

UpdateReport report(std::int64_t step, double loss, double rmse_e, double rmse_v)
{
  UpdateReport report;
  report.step = step;
  report.loss = loss;
  report.terms = {{"e", rmse_e, NONE}, {"v", rmse_v, NONE}};
  report.learning_rate = 0.1 / static_cast<double>(step);
  return report;
}

TEST(ReportMean, IsWeightedByTheAtoms)
{
  ReportMean mean;
  EXPECT_TRUE(mean.empty());
  mean.add(report(1, 4.0, 1.0, 3.0), 2.0);
  mean.add(report(2, 25.0, 4.0, 6.0), 1.0);
  EXPECT_FALSE(mean.empty());
  // exact: sums of small integers; the loss is the square of the mean of roots, (2*2 + 5)/3
  EXPECT_DOUBLE_EQ(mean.mean().rmse("e"), 2.0);
  EXPECT_DOUBLE_EQ(mean.mean().rmse("v"), 4.0);
  EXPECT_DOUBLE_EQ(mean.mean().loss, 9.0);
  EXPECT_EQ(mean.mean().step, 2);
  EXPECT_DOUBLE_EQ(mean.mean().learning_rate, 0.05);
}

TEST(ReportMean, LeavesOutBatchesWithoutALabel)
{
  ReportMean mean;
  mean.add(report(1, 1.0, 1.0, NONE), 1.0);
  EXPECT_TRUE(std::isnan(mean.mean().rmse("v")));
  mean.add(report(2, 1.0, 3.0, 7.0), 5.0);
  EXPECT_DOUBLE_EQ(mean.mean().rmse("v"), 7.0);
  EXPECT_DOUBLE_EQ(mean.mean().rmse("e"), 16.0 / 6.0);
}

TEST(ReportMean, GoesOnFromItsState)
{
  ReportMean first, second;
  first.add(report(1, 2.0, 0.3, NONE), 1.0);
  state_of(first).read(second);
  for (ReportMean *mean : {&first, &second}) mean->add(report(2, 3.0, 0.7, 0.2), 3.0);
  EXPECT_EQ(state_of(second), state_of(first));
  EXPECT_EQ(second.mean().rmse("e"), first.mean().rmse("e"));
  state_of(ReportMean()).read(second);
  EXPECT_TRUE(second.empty());
}

TEST(ReportMean, RefusesADamagedState)
{
  ReportMean mean;
  mean.add(report(1, 1.0, 5.0, 2.0), 1.0);
  State state = state_of(mean);
  state.set("loss", State());
  EXPECT_THROW(state.read(mean), Error);
  EXPECT_DOUBLE_EQ(mean.mean().rmse("e"), 5.0);
}

}  // namespace
}  // namespace dptrain
