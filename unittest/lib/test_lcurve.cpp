// lcurve.out in the columns of DeePMD-kit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "dptrain/training/learning_curve.h"
#include "dptrain/training/trainer.h"
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
  r.terms = {{"e", e, NAN}, {"f", f, NAN}, {"v", NAN, NAN}};
  r.learning_rate = lr;
  return r;
}

TEST(LearningCurve, HasTheFormatOfDeepmd)
{
  const Scratch scratch;
  LearningCurve curve(scratch / "lcurve.out", LossConfig(), false, false);
  curve.write(report(1, 26.0, 0.188, 0.821, 3e-3));
  curve.write(report(10, 21.2, 0.035, 0.795, 2.1e-3));
  EXPECT_EQ(read_file(scratch / "lcurve.out"), reference);  // each row is there at once
}

TEST(LearningCurve, ShowsTheActiveTermsOnly)
{
  const Scratch scratch;
  LossConfig loss;
  loss.prefactors.at("e").start = 0.0;  // one zero prefactor switches a term off
  loss.prefactors["v"] = {1.0, 2.0};
  LearningCurve(scratch / "lcurve.out", loss, false, false)
      .write(report(1234567890, 1, 2, 3, 1e-3));
  const std::string text = read_file(scratch / "lcurve.out");
  expect_in("# step       rmse_trn    rmse_f_trn    rmse_v_trn   lr      \n", text);
  expect_in("\n1234567890      1.00e+00      3.00e+00           nan    1.0e-03\n", text);
}

// rows of DeePMD-kit 3.2.0, PyTorch backend, with validation data
TEST(LearningCurve, HasTheFormatOfDeepmdWithValidation)
{
  const Scratch scratch;
  LearningCurve curve(scratch / "lcurve.out", LossConfig(), true, false);
  curve.write(report(1, 26.8, 0.533, 0.847, 1e-3), report(1, 26.0, 0.114, 0.823, 1e-3));
  curve.write(report(300, 4.46, 4.49e-3, 0.236, 3.6e-4), report(300, 4.58, 2.39e-2, 0.241, 1.0));
  EXPECT_EQ(read_file(scratch / "lcurve.out"),
            "# step       rmse_val    rmse_trn    rmse_e_val  rmse_e_trn    rmse_f_val  rmse_f_trn"
            "   lr      \n"
            "# If there is no available reference data, rmse_*_{val,trn} will print nan\n"
            "      1      2.60e+01    2.68e+01      1.14e-01    5.33e-01      8.23e-01    8.47e-01"
            "    1.0e-03\n"
            "    300      4.58e+00    4.46e+00      2.39e-02    4.49e-03      2.41e-01    2.36e-01"
            "    3.6e-04\n");
  curve.write(report(400, 1.0, 2.0, 3.0, 1e-3));
  expect_in("    400           nan    1.00e+00           nan    2.00e+00           nan    3.00e+00",
            read_file(scratch / "lcurve.out"));
}

// header and rows of DeePMD-kit 3.2.0 with all terms of the loss, see tools/make_reference_loss_terms.py
TEST(LearningCurve, ColumnsOfAllTermsAreInDeepmdsOrder)
{
  const Scratch scratch;
  LossConfig loss;
  loss.prefactors["v"] = {1.0, 1.0};
  loss.prefactors["ae"] = {1.0, 1.0};
  loss.prefactors["pf"] = {1.0, 1.0};
  loss.prefactors["gf"] = {1.0, 1.0};
  loss.numb_generalized_coord = 1;
  UpdateReport r = report(1, 1.0, 3.0, 4.0, 1e-3);
  r.terms = {{"e", 3.0, 13.0},  {"f", 4.0, 14.0},  {"v", 7.0, 17.0},
             {"ae", 2.0, 12.0}, {"pf", 6.0, 16.0}, {"gf", 5.0, 15.0}};
  LearningCurve(scratch / "mse", loss, false, false).write(r);
  std::string text = read_file(scratch / "mse");
  expect_in("# step       rmse_trn   rmse_ae_trn    rmse_e_trn    rmse_f_trn   rmse_gf_trn   "
            "rmse_pf_trn    rmse_v_trn   lr      \n",
            text);
  expect_in("\n      1      1.00e+00      2.00e+00      3.00e+00      4.00e+00      5.00e+00      "
            "6.00e+00      7.00e+00    1.0e-03\n",
            text);
  loss.function = LossFunction::mae;
  LearningCurve(scratch / "mae", loss, false, false).write(r);
  text = read_file(scratch / "mae");
  expect_in("# step     mae_ae_trn     mae_e_trn     mae_f_trn    mae_pf_trn     mae_v_trn      "
            "rmse_trn   rmse_gf_trn   lr      \n",
            text);
  expect_in("\n      1      1.20e+01      1.30e+01      1.40e+01      1.60e+01      1.70e+01      "
            "1.00e+00      5.00e+00    1.0e-03\n",
            text);
}

// Files of DeePMD-kit, read and written again.
TEST(LearningCurve, GivesDeepmdsFilesBack)
{
  const char *shared = std::getenv("DPTRAIN_SHARED");
  const std::string cases = std::string(shared ? shared : "") + "/cases";
  if (!shared || !std::filesystem::exists(cases)) GTEST_SKIP() << "there is no such folder";
  const Scratch scratch;
  int files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(cases)) {
    const std::string file = entry.path() / "lcurve.out";
    if (!std::filesystem::exists(file)) continue;
    const std::string text = read_file(file);
    LossConfig loss;
    const bool virial = text.find("rmse_v_trn") != std::string::npos;
    if (virial) loss.prefactors["v"] = {1.0, 1.0};
    LearningCurve curve(scratch / "lcurve.out", loss, false, false);
    std::istringstream rows(text.substr(text.find('\n', text.find('\n') + 1) + 1));
    UpdateReport r;
    r.terms = {{"e"}, {"f"}, {"v"}};
    for (double rmse; rows >> r.step >> rmse >> r.terms[0].rmse >> r.terms[1].rmse;) {
      if (virial) rows >> r.terms[2].rmse;
      rows >> r.learning_rate;
      r.loss = rmse * rmse;
      curve.write(r);
    }
    EXPECT_EQ(read_file(scratch / "lcurve.out"), text) << file;
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST(LearningCurve, AppendsOrStartsAgain)
{
  const Scratch scratch;
  const std::string path = scratch / "lcurve.out";
  LearningCurve(path, LossConfig(), false, true).write(report(1, 26.0, 0.188, 0.821, 3e-3));
  LearningCurve(path, LossConfig(), false, true).write(report(10, 21.2, 0.035, 0.795, 2.1e-3));
  EXPECT_EQ(read_file(path), reference);
  // other columns get their own header
  LossConfig loss;
  loss.prefactors["v"] = {1.0, 1.0};
  LearningCurve(path, loss, false, true).write(report(20, 1, 1, 1, 1));
  expect_in(reference +
                std::string("# step       rmse_trn    rmse_e_trn    rmse_f_trn    rmse_v_trn"),
            read_file(path));
  LearningCurve(path, LossConfig(), false, false);
  const std::string text = read_file(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(LearningCurve, NamesTheReason)
{
  const Scratch scratch;
  const std::string text = message_of(
      [&] { LearningCurve(scratch / "missing/lcurve.out", LossConfig(), false, false); });
  expect_in("missing/lcurve.out", text);
  expect_in("No such file", text);
  if (!std::filesystem::exists("/dev/full")) return;
  expect_in("No space left",
            message_of([&] { LearningCurve("/dev/full", LossConfig(), false, false); }));
}

}  // namespace
}  // namespace dptrain
