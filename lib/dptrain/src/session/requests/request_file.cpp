#include "session/requests/request_file.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/io/atomic_file.h"
#include "dptrain/parallel/broadcast.h"
#include "io/file.h"
#include "io/hdf5_state.h"

namespace dptrain {

namespace fs = std::filesystem;

namespace {

const char *const requests_name = "requests";

bool same_configuration(const WholeFrame &a, const WholeFrame &b)
{
  return a.step == b.step && a.type == b.type && a.coord == b.coord && a.box == b.box;
}

std::vector<LabelRequest> read_requests(const std::string &path)
{
  const Hdf5File file = Hdf5File::open(read_file(path), path);
  std::vector<LabelRequest> requests;
  read_state(file, "/").get_to(requests_name, requests);
  return requests;
}

// The files of a group: {number: path}.
std::map<int, std::string> files_of_group(const std::string &first)
{
  std::map<int, std::string> files;
  if (fs::exists(first)) files[0] = first;
  const fs::path folder = fs::path(first).parent_path();
  const std::string prefix = fs::path(first).filename().string() + ".";
  for (const auto &entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
    const std::string name = entry.path().filename().string(),
                      number = name.substr(std::min(prefix.size(), name.size()));
    if (name.compare(0, prefix.size(), prefix) == 0 && !number.empty() && number.size() < 6 &&
        number.find_first_not_of("0123456789") == std::string::npos)
      files[std::stoi(number)] = entry.path().string();
  }
  return files;
}

bool is_among(const WholeFrame &wanted, const std::vector<WholeFrame> &frames)
{
  return std::any_of(frames.begin(), frames.end(), [&wanted](const WholeFrame &frame) {
    return same_configuration(frame, wanted);
  });
}

}  // namespace

std::string requests_path_of(const std::string &frames)
{
  const std::string suffix = ".frames";
  return (frames.ends_with(suffix) ? frames.substr(0, frames.size() - suffix.size()) : frames) +
         ".requests";
}

RequestFile::RequestFile(std::shared_ptr<const Communicator> comm, const std::string &frames,
                         RunOfGroup run) :
    comm_(std::move(comm)),
    run_(run),
    first_path_(requests_path_of(frames)),
    path_(first_path_ + (run.index > 0 ? fmt::format(".{}", run.index) : ""))
{
}

void RequestFile::write(const std::vector<const LabelRequest *> &requests) const
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (requests.empty()) {
      fs::remove(path_);
      return;
    }
    std::vector<LabelRequest> all;
    for (const LabelRequest *request : requests) all.push_back(*request);
    Hdf5File file = Hdf5File::create(path_);
    write_state(file, requests_name, state_of(all));
    const std::string bytes = file.bytes();
    write_atomically(path_, [&](const std::string &name) { write_file(name, bytes); });
  });
}

std::vector<LabelRequest> RequestFile::read(const std::string &source,
                                            const std::string &frames) const
{
  std::vector<LabelRequest> open;  // those without an answer
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    const auto stored =
        fs::exists(frames) ? FramesFile::read(frames, -1).frames : std::vector<WholeFrame>{};
    for (const auto &[number, path] : files_of_group(requests_path_of(source)))
      if (is_mine(number))
        for (LabelRequest &request : read_requests(path)) {
          const auto is_same = [&](const LabelRequest &other) {
            return same_configuration(other.frame, request.frame);
          };  // a run may have ended while it took over the file of another
          if (!is_among(request.frame, stored) && std::none_of(open.begin(), open.end(), is_same))
            open.push_back(std::move(request));
        }
  });
  broadcast(*comm_, open);
  return open;
}

void RequestFile::drop_orphans() const
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    for (const auto &[number, path] : files_of_group(first_path_))
      if (number >= run_.count && is_mine(number)) fs::remove(path);
  });
}

void RequestFile::put_aside(const Log &log) const
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    for (const auto &[number, path] : files_of_group(first_path_)) {
      if (!is_mine(number)) continue;
      const std::string old = dptrain::put_aside({path});
      log(fmt::format("the requests of an earlier run in {} are kept as {}{}", path, path, old));
    }
  });
}

}  // namespace dptrain
