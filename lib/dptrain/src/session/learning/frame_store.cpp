#include "session/learning/frame_store.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "io/file.h"

namespace dptrain {

namespace fs = std::filesystem;

FrameStore::FrameStore(std::shared_ptr<const Communicator> comm, std::string path,
                       std::string checkpoint, std::vector<std::string> type_map, Log log) :
    comm_(std::move(comm)),
    path_(std::move(path)),
    checkpoint_(std::move(checkpoint)),
    type_map_(std::move(type_map)),
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
  const bool same =
      source == path_ && fs::exists(path_) && FramesFile::read(path_, 0).type_map == type_map_;
  if (!same && fs::exists(path_)) {
    std::vector<std::string> files{path_};
    if (!checkpoint_.empty()) files.push_back(checkpoint_);
    const std::string old = put_aside(files);
    log_(fmt::format("the frames of an earlier run in {} are kept as {}{}", path_, path_, old));
  }
  earlier_ = frames.size();
  file_ = std::make_unique<FramesFile>(path_, type_map_, same ? frames.size() : 0);
  if (!same)
    for (const WholeFrame &frame : frames) file_->append(frame);
}

std::string FrameStore::take_back()
{
  std::string done;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0 || !file_) return;
    const std::vector<WholeFrame> frames = FramesFile::read(path_, -1).frames;
    if (frames.size() <= earlier_) return;
    const std::string wrong = path_ + ".wrong";
    if (fs::exists(wrong)) put_aside({wrong});
    {
      FramesFile file(wrong, type_map_, 0);
      for (std::size_t k = earlier_; k < frames.size(); ++k) file.append(frames[k]);
    }
    if (earlier_ > 0)
      FramesFile(path_, type_map_, static_cast<std::int64_t>(earlier_));
    else
      fs::remove(path_);
    file_.reset();
    done =
        fmt::format("the labels of this run ({}) are kept as {}", frames.size() - earlier_, wrong);
  });
  broadcast(*comm_, done);
  return done;
}

std::vector<WholeFrame> FrameStore::read(const std::string &path, std::int64_t count,
                                         const std::string &model) const
{
  std::vector<WholeFrame> frames;
  guarded(*comm_, [&] {
    if (comm_->rank() != 0) return;
    if (count <= 0 && !fs::exists(path)) return;  // the run ended before its first label came
    StoredFrames stored = FramesFile::read(path, count);
    const std::vector<int> types = places_in(type_map_, stored.type_map);
    frames = std::move(stored.frames);
    for (WholeFrame &frame : frames)
      for (int &type : frame.type) {
        if (types[type] < 0)
          throw Error(fmt::format(
              "{} has frames with the element {}, which the model {} has not: its elements "
              "are {}; give a model with all elements, or start again without these frames",
              path, stored.type_map[type], model, joined(type_map_)));
        type = types[type];
      }
  });
  count = static_cast<std::int64_t>(frames.size());
  comm_->broadcast(&count, sizeof(count), 0);
  frames.resize(count);
  return frames;
}

}  // namespace dptrain
