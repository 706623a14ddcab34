#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "dptrain/error.h"
#include "dptrain/files.h"

namespace dptrain {

namespace {

[[noreturn]] void fail(const std::string &path)
{
  const int code = errno;
  throw Error("cannot write the learning curve '" + path +
              "': " + (code ? std::strerror(code) : "unknown reason"));
}

std::string formatted(const char *format, double value)
{
  char text[64];
  std::snprintf(text, sizeof text, format,
                std::isnan(value) ? std::fabs(value) : value);  // no -nan
  return text;
}

std::string padded(const std::string &name)
{
  char text[64];
  std::snprintf(text, sizeof text, "%11s", name.c_str());
  return text;
}

/// A term of the loss, and where a report has its error.
struct Term {
  double start, limit;
  const char *name;
  double UpdateReport::*rmse;
  double UpdateReport::*mae;
};

}  // namespace

// The columns of DeePMD-kit: mean absolute errors where the loss is made of them, but generalized forces always count
// squared. In the order of their names.
void LearningCurve::choose_columns(const LossConfig &loss)
{
  using R = UpdateReport;
  const bool mae = loss.function == LossFunction::mae;
  for (const Term &term :
       {Term{loss.start_pref_e, loss.limit_pref_e, "e", &R::rmse_e, &R::mae_e},
        Term{loss.start_pref_f, loss.limit_pref_f, "f", &R::rmse_f, &R::mae_f},
        Term{loss.start_pref_v, loss.limit_pref_v, "v", &R::rmse_v, &R::mae_v},
        Term{loss.start_pref_ae, loss.limit_pref_ae, "ae", &R::rmse_ae, &R::mae_ae},
        Term{loss.start_pref_pf, loss.limit_pref_pf, "pf", &R::rmse_pf, &R::mae_pf},
        Term{loss.start_pref_gf, loss.limit_pref_gf, "gf", &R::rmse_gf, nullptr}}) {
    if (term.start == 0.0 || term.limit == 0.0) continue;
    if (mae && term.mae)
      columns_.emplace_back(std::string("mae_") + term.name, term.mae);
    else
      columns_.emplace_back(std::string("rmse_") + term.name, term.rmse);
  }
  columns_.emplace_back("rmse", nullptr);  // the root of the loss
  std::sort(columns_.begin(), columns_.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
}

LearningCurve::LearningCurve(const std::string &path, const LossConfig &loss, bool validation,
                             bool append) :
    path_(path), validation_(validation)
{
  choose_columns(loss);
  std::string header = "# step ";
  for (const auto &column : columns_)
    header += "   " + (validation_ ? padded(column.first + "_val") + " " : "") +
              padded(column.first + "_trn");
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
  const auto value = [](const UpdateReport &report, double UpdateReport::*error) {
    return formatted("%11.2e", error ? report.*error : std::sqrt(report.loss));
  };
  char step[32];
  std::snprintf(step, sizeof step, "%7lld", static_cast<long long>(training.step));
  std::string row = step;
  for (const auto &column : columns_) {
    row += "   ";
    if (validation_)
      row += (validation ? value(*validation, column.second) : formatted("%11.2e", NAN)) + " ";
    row += value(training, column.second);
  }
  errno = 0;
  file_ << row << formatted("   %8.1e\n", training.learning_rate) << std::flush;
  if (!file_) fail(path_);
}

}  // namespace dptrain
