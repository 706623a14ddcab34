#include <cerrno>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "dptrain/training/learning_curve.h"
#include "training/shown_errors.h"

namespace dptrain {

namespace {

[[noreturn]] void fail(const std::string &path)
{
  const int code = errno;
  throw Error(fmt::format("cannot write the learning curve '{}': {}; check space and permissions, "
                          "or choose another file (disp)",
                          path, code ? std::strerror(code) : "unknown reason"));
}

std::string column(double value)
{
  return fmt::format("{:>11.2e}", std::isnan(value) ? std::fabs(value) : value);  // no -nan
}

}  // namespace

// In the order of their names, as DeePMD-kit sorts them.
void LearningCurve::choose_columns(const LossConfig &loss)
{
  for (const ShownError &error : shown_errors(loss))
    columns_[error.name()] = [error](const UpdateReport &report) { return error.value(report); };
  columns_["rmse"] = [](const UpdateReport &report) { return std::sqrt(report.loss); };
}

LearningCurve::LearningCurve(const std::string &path, const LossConfig &loss, bool validation,
                             bool append) :
    path_(path), validation_(validation)
{
  choose_columns(loss);
  std::string header = "# step ";
  for (const auto &[name, value] : columns_)
    header += "   " + (validation_ ? fmt::format("{:>11} ", name + "_val") : "") +
              fmt::format("{:>11}", name + "_trn");
  header += "   lr      ";
  std::string first;
  if (append) std::getline(std::ifstream(path), first);
  errno = 0;
  file_.open(path, append ? std::ios::app : std::ios::trunc);
  if (!file_) fail(path_);
  if (first == header) return;
  file_ << header << "\n"
        << "# If there is no available reference data, rmse_*_{val,trn} will print nan\n"
        << std::flush;
  if (!file_) fail(path_);
}

void LearningCurve::write(const UpdateReport &training,
                          const std::optional<UpdateReport> &validation)
{
  std::string row = fmt::format("{:7}", training.step);
  for (const auto &[name, value] : columns_) {
    row += "   ";
    if (validation_) row += column(validation ? value(*validation) : NAN) + " ";
    row += column(value(training));
  }
  errno = 0;
  file_ << row << fmt::format("   {:8.1e}\n", training.learning_rate) << std::flush;
  if (!file_) fail(path_);
}

}  // namespace dptrain
