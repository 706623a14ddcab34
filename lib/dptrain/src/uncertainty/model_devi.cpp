#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/uncertainty/model_deviation.h"

namespace dptrain {

namespace {

[[noreturn]] void fail(const std::string &path)
{
  const int code = errno;
  throw Error(fmt::format("cannot write the model deviations '{}': {}; check the folder, the "
                          "permissions and the space on the disk",
                          path, code ? std::strerror(code) : "unknown reason"));
}

std::string header_of(bool atomic)
{
  std::string header = fmt::format("#{:>11}", "step");
  for (const char *name :
       {"max_devi_v", "min_devi_v", "avg_devi_v", "max_devi_f", "min_devi_f", "avg_devi_f"})
    header += fmt::format("{:>19}", name);
  if (atomic) header += fmt::format("{:>19}", "atm_devi_f(N)");
  return header;
}

}  // namespace

ModelDeviationFile::ModelDeviationFile(const std::string &path, bool atomic, bool append) :
    path_(path)
{
  const std::string header = header_of(atomic);
  std::string first;
  if (append) std::getline(std::ifstream(path), first);
  errno = 0;
  file_.open(path, append ? std::ios::app : std::ios::trunc);
  if (!file_) fail(path_);
  if (first != header) file_ << header << "\n" << std::flush;
  if (!file_) fail(path_);
}

void ModelDeviationFile::write(const ModelDeviationRow &row)
{
  std::string line = fmt::format("{:12}", row.step);
  const DeviationRange &v = row.virial, &f = row.force;
  for (const double value : {v.max, v.min, v.average, f.max, f.min, f.average})
    line += fmt::format(" {:18.6e}", value);
  for (const double value : row.atoms) line += fmt::format(" {:18.6e}", value);
  errno = 0;
  file_ << line << "\n" << std::flush;
  if (!file_) fail(path_);
}

}  // namespace dptrain
