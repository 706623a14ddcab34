#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <numeric>
#include <sstream>

#include "dptrain/base/error.h"
#include "dptrain/uncertainty/model_deviation.h"

namespace dptrain {

namespace {

constexpr std::ptrdiff_t num_ranges = 7;  // columns before those of the atoms

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

const std::string ids_line = "# IDs of the atoms of atm_devi_f:";

std::vector<std::int64_t> first_ids(std::size_t n)
{
  std::vector<std::int64_t> ids(n);
  std::iota(ids.begin(), ids.end(), std::int64_t(1));
  return ids;
}

// The atoms that have columns in a file; none where it has no row.
std::vector<std::int64_t> ids_of_columns(std::istream &file)
{
  std::vector<std::int64_t> ids;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    if (line.rfind(ids_line, 0) == 0) {
      words.ignore(static_cast<std::streamsize>(ids_line.size()));
      ids.assign(std::istream_iterator<std::int64_t>(words), {});
      return ids;
    }
    if (line.empty() || line[0] == '#') continue;
    const auto n = std::distance(std::istream_iterator<std::string>(words), {});
    return first_ids(static_cast<std::size_t>(std::max<std::ptrdiff_t>(n - num_ranges, 0)));
  }
  return ids;
}

}  // namespace

ModelDeviationFile::ModelDeviationFile(const std::string &path, bool atomic, bool append) :
    path_(path)
{
  const std::string header = header_of(atomic);
  std::string first;
  if (append) {
    std::ifstream old(path);
    std::getline(old, first);
    if (atomic && first == header) ids_ = ids_of_columns(old);
  }
  errno = 0;
  file_.open(path, append ? std::ios::app : std::ios::trunc);
  if (!file_) fail(path_);
  if (first != header) file_ << header << "\n" << std::flush;
  if (!file_) fail(path_);
}

std::size_t ModelDeviationFile::write(const ModelDeviationRow &row)
{
  std::string line = fmt::format("{:12}", row.step);
  const DeviationRange &v = row.virial, &f = row.force;
  for (const double value : {v.max, v.min, v.average, f.max, f.min, f.average})
    line += fmt::format(" {:>18.6e}", value);
  const std::vector<std::int64_t> ids = row.ids.empty() ? first_ids(row.atoms.size()) : row.ids;
  if (ids_.empty() && !ids.empty()) name_columns(ids);
  std::size_t found = 0;
  for (const std::int64_t id : ids_) {
    const auto place = std::lower_bound(ids.begin(), ids.end(), id);
    const bool is_there = place != ids.end() && *place == id;
    found += is_there;
    line += is_there ? fmt::format(" {:>18.6e}", row.atoms[place - ids.begin()])
                     : fmt::format(" {:>18}", "nan");
  }
  errno = 0;
  file_ << line << "\n" << std::flush;
  if (!file_) fail(path_);
  return ids.size() - found;
}

// Those of the first row; where they are not 1, 2, ..., a line says which they are.
void ModelDeviationFile::name_columns(const std::vector<std::int64_t> &ids)
{
  ids_ = ids;
  if (ids == first_ids(ids.size())) return;
  file_ << ids_line;
  for (const std::int64_t id : ids) file_ << " " << id;
  file_ << "\n";
}

}  // namespace dptrain
