// lcurve.out in the columns of DeePMD-kit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "dptrain/files.h"
#include "support/scratch.h"

namespace dptrain {
namespace {

using test::expect_in;
using test::message_of;
using test::Scratch;

// written by DeePMD-kit 3.2.0
const char *const reference =
    "# step       rmse_trn    rmse_e_trn    rmse_f_trn   lr      \n"
    "# If there is no available reference data, rmse_*_{val,trn} will print nan\n"
    "      1      2.60e+01      1.88e-01      8.21e-01    3.0e-03\n"
    "     10      2.12e+01      3.50e-02      7.95e-01    2.1e-03\n";

UpdateReport report(std::int64_t step, double rmse, double e, double f, double lr)
{
  UpdateReport r;
  r.step = step;
  r.loss = rmse * rmse;
  r.rmse_e = e;
  r.rmse_f = f;
  r.rmse_v = NAN;
  r.learning_rate = lr;
  return r;
}

TEST(LearningCurve, HasTheFormatOfDeepmd)
{
  const Scratch scratch;
  LearningCurve curve(scratch / "lcurve.out", LossConfig(), false);
  curve.write(report(1, 26.0, 0.188, 0.821, 3e-3));
  curve.write(report(10, 21.2, 0.035, 0.795, 2.1e-3));
  EXPECT_EQ(read_file(scratch / "lcurve.out"), reference);  // each row is there at once
}

TEST(LearningCurve, ShowsTheActiveTermsOnly)
{
  const Scratch scratch;
  LossConfig loss;
  loss.start_pref_e = 0.0;  // one zero prefactor switches a term off
  loss.start_pref_v = 1.0;
  loss.limit_pref_v = 2.0;
  LearningCurve(scratch / "lcurve.out", loss, false).write(report(1234567890, 1, 2, 3, 1e-3));
  const std::string text = read_file(scratch / "lcurve.out");
  expect_in("# step       rmse_trn    rmse_f_trn    rmse_v_trn   lr      \n", text);
  expect_in("\n1234567890      1.00e+00      3.00e+00           nan    1.0e-03\n", text);
}

TEST(LearningCurve, AppendsOrStartsAgain)
{
  const Scratch scratch;
  const std::string path = scratch / "lcurve.out";
  LearningCurve(path, LossConfig(), true).write(report(1, 26.0, 0.188, 0.821, 3e-3));
  LearningCurve(path, LossConfig(), true).write(report(10, 21.2, 0.035, 0.795, 2.1e-3));
  EXPECT_EQ(read_file(path), reference);
  // other columns get their own header
  LossConfig loss;
  loss.start_pref_v = loss.limit_pref_v = 1.0;
  LearningCurve(path, loss, true).write(report(20, 1, 1, 1, 1));
  expect_in(reference +
                std::string("# step       rmse_trn    rmse_e_trn    rmse_f_trn    rmse_v_trn"),
            read_file(path));
  LearningCurve(path, LossConfig(), false);
  const std::string text = read_file(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(LearningCurve, NamesTheReason)
{
  const Scratch scratch;
  const std::string text =
      message_of([&] { LearningCurve(scratch / "missing/lcurve.out", LossConfig(), false); });
  expect_in("missing/lcurve.out", text);
  expect_in("No such file", text);
  if (!std::filesystem::exists("/dev/full")) return;
  expect_in("No space left", message_of([&] { LearningCurve("/dev/full", LossConfig(), false); }));
}

}  // namespace
}  // namespace dptrain
