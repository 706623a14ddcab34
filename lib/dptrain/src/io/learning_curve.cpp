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

std::string column(const char *format, double value)
{
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string header(bool energy, bool force, bool virial)
{
  const auto name = [](const char *text) {
    char padded[64];
    std::snprintf(padded, sizeof padded, "   %11s", text);
    return std::string(padded);
  };
  std::string line = "# step " + name("rmse_trn");
  if (energy) line += name("rmse_e_trn");
  if (force) line += name("rmse_f_trn");
  if (virial) line += name("rmse_v_trn");
  return line + "   lr      ";
}

}  // namespace

LearningCurve::LearningCurve(const std::string &path, const LossConfig &loss, bool append) :
    path_(path),
    energy_(loss.start_pref_e != 0.0 && loss.limit_pref_e != 0.0),
    force_(loss.start_pref_f != 0.0 && loss.limit_pref_f != 0.0),
    virial_(loss.start_pref_v != 0.0 && loss.limit_pref_v != 0.0)
{
  const std::string columns = header(energy_, force_, virial_);
  std::string first;
  if (append) std::getline(std::ifstream(path), first);
  errno = 0;
  file_.open(path, append ? std::ios::app : std::ios::trunc);
  if (!file_) fail(path_);
  if (first == columns) return;
  file_ << columns << "\n"
        << "# If there is no available reference data, rmse_*_{val,trn} will print nan\n"
        << std::flush;
  if (!file_) fail(path_);
}

void LearningCurve::write(const UpdateReport &report)
{
  char step[32];
  std::snprintf(step, sizeof step, "%7lld", static_cast<long long>(report.step));
  std::string row = step + column("   %11.2e", std::sqrt(report.loss));
  if (energy_) row += column("   %11.2e", report.rmse_e);
  if (force_) row += column("   %11.2e", report.rmse_f);
  if (virial_) row += column("   %11.2e", report.rmse_v);
  errno = 0;
  file_ << row << column("   %8.1e\n", report.learning_rate) << std::flush;
  if (!file_) fail(path_);
}

}  // namespace dptrain
