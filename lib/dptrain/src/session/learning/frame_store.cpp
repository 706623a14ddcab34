#include "session/learning/frame_store.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "io/file.h"

namespace dptrain {

namespace fs = std::filesystem;

FrameStore::FrameStore(std::shared_ptr<const Communicator> comm, std::string path,
                       std::string checkpoint, Log log) :
    comm_(std::move(comm)),
    path_(std::move(path)),
    checkpoint_(std::move(checkpoint)),
    log_(std::move(log))
{
  guarded(*comm_, [&] { lock(); });
}

void FrameStore::lock()
{
  if (comm_->rank() == 0 && !checkpoint_.empty() && !lock_) lock_ = FileLock::of(path_);
}

void FrameStore::append(const WholeFrame &frame)
{
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    lock();
    if (!file_) open({}, "");
    file_->append(frame);
  });
}

void FrameStore::begin(const std::vector<WholeFrame> &frames, const std::string &source)
{
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) open(frames, source);
  });
}

// Labels cost more than anything else in a run: none is overwritten.
void FrameStore::open(const std::vector<WholeFrame> &frames, const std::string &source)
{
  const bool same = source == path_;
  if (!same && fs::exists(path_)) {
    std::vector<std::string> files{path_};
    if (!checkpoint_.empty()) files.push_back(checkpoint_);
    const std::string old = put_aside(files);
    log_(fmt::format("the frames of an earlier run in {} are kept as {}{}", path_, path_, old));
  }
  file_ = std::make_unique<FramesFile>(path_, same ? frames.size() : 0);
  if (!same)
    for (const WholeFrame &frame : frames) file_->append(frame);
}

std::vector<WholeFrame> FrameStore::read(const std::string &path, std::int64_t count,
                                         const std::vector<int> &types, const std::string &model,
                                         const std::vector<std::string> &elements) const
{
  std::vector<WholeFrame> frames;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (count <= 0 && !fs::exists(path)) return;  // the run ended before its first label came
    frames = FramesFile::read(path, count);
    for (WholeFrame &frame : frames)
      for (int &type : frame.type) {
        const bool known = type >= 0 && type < static_cast<int>(types.size());
        if (!known || types[type] < 0)
          throw Error(fmt::format(
              "{} has frames with the element of type {}, which the model {} has not: its elements "
              "are {}; give a model with all elements, or start again without these frames",
              path, type, model, joined(elements)));
        type = types[type];
      }
  });
  count = static_cast<std::int64_t>(frames.size());
  comm_->broadcast(&count, sizeof(count), 0);
  frames.resize(count);
  return frames;
}

}  // namespace dptrain
