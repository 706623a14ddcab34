#include "session/request_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/io/atomic_file.h"
#include "io/file.h"
#include "io/hdf5_state.h"
#include "parallel/byte_archive.h"
#include "session/frame_store.h"

namespace dptrain {

namespace fs = std::filesystem;

namespace {

const std::string group = "requests";

bool same_configuration(const WholeFrame &a, const WholeFrame &b)
{
  return a.step == b.step && a.type == b.type && a.coord == b.coord && a.box == b.box;
}

State read_requests(const std::string &path)
{
  const Hdf5File file = Hdf5File::open(read_file(path), path, false);
  return read_state(file, group);
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
  return (ends_with(frames, suffix) ? frames.substr(0, frames.size() - suffix.size()) : frames) +
         ".requests";
}

RequestFile::RequestFile(std::shared_ptr<const Communicator> comm, std::string path) :
    comm_(std::move(comm)), path_(std::move(path))
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
    State all;
    for (std::size_t k = 0; k < requests.size(); ++k)
      all.set_group(formatted("%08zu", k), requests[k]->state());  // groups are sorted by name
    Hdf5File file = Hdf5File::create(path_);
    write_state(file, group, all);
    const std::string bytes = file.bytes();
    write_atomically(path_, [&](const std::string &name) { write_file(name, bytes); });
  });
}

std::vector<LabelRequest> RequestFile::read(const std::string &path,
                                            const std::string &frames) const
{
  State open;  // those without an answer
  guarded(*comm_, [&] {
    if (comm_->rank() != 0 || !fs::exists(path)) return;
    const State all = read_requests(path);
    const auto stored =
        fs::exists(frames) ? FramesFile::read(frames, -1) : std::vector<WholeFrame>{};
    all.for_each_group([&](const std::string &name, const State &request) {
      if (!is_among(LabelRequest::from(request).frame, stored)) open.set_group(name, request);
    });
  });
  ByteArchive(*comm_).send(open);
  std::vector<LabelRequest> requests;
  open.for_each_group([&](const std::string &, const State &request) {
    requests.push_back(LabelRequest::from(request));
  });
  return requests;
}

void RequestFile::put_aside(const Log &log) const
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0 || !fs::exists(path_)) return;
    const std::string old = dptrain::put_aside({path_});
    log("the requests of an earlier run in " + path_ + " are kept as " + path_ + old);
  });
}

}  // namespace dptrain
