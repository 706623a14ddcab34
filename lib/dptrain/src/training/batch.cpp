#include "training/batch.h"

#include <fmt/format.h>

#include "base/memory_shortage.h"
#include "dptrain/frames/distribution.h"

namespace dptrain {

namespace {

using Frames = Batch::Frames;

/// This rank's shares of frames of the buffer, with their rows while they are in use.
class FramesInUse {
 public:
  FramesInUse(ReplayBuffer &buffer, const Communicator &comm,
              const std::vector<std::int64_t> &places, const std::function<void()> &give_back) :
      buffer_(buffer), shares_(stored(buffer, places), comm, places.front())
  {
    guarded(comm, [&] { tried_twice([&] { bring_back(places); }, give_back); });
  }
  FramesInUse(const FramesInUse &) = delete;
  FramesInUse &operator=(const FramesInUse &) = delete;
  ~FramesInUse()
  {
    for (const std::int64_t place : used_) buffer_.release(place);
  }
  const Frames &frames() const { return shares_.frames(); }

 private:
  void bring_back(const std::vector<std::int64_t> &places)
  {
    used_.clear();
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (shares_.frames()[k] != &buffer_.frame(places[k])) continue;  // another rank's
      used_.push_back(places[k]);
      buffer_.use(places[k]);
    }
  }

  // places are the same on all ranks, and so is an error
  static Frames stored(const ReplayBuffer &buffer, const std::vector<std::int64_t> &places)
  {
    Frames frames;
    for (const std::int64_t place : places) frames.push_back(&buffer.frame(place));
    return frames;
  }

  ReplayBuffer &buffer_;
  BatchShares shares_;
  std::vector<std::int64_t> used_;
};

std::string step_of(const Frame &frame)
{
  return fmt::format(" {}", frame.step);
}

}  // namespace

void GivenBatch::use(std::size_t begin, std::size_t end,
                     const std::function<void(const Frames &)> &work) const
{
  const auto first = frames_.begin();
  const Frames some(first + static_cast<std::ptrdiff_t>(begin),
                    first + static_cast<std::ptrdiff_t>(end));
  work(BatchShares(some, comm_, static_cast<std::int64_t>(begin)).frames());
}

std::string GivenBatch::steps() const
{
  std::string text;
  for (const Frame *frame : frames_) text += step_of(*frame);
  return text;
}

void StoredBatch::use(std::size_t begin, std::size_t end,
                      const std::function<void(const Frames &)> &work) const
{
  const auto first = places_.begin();
  const std::vector<std::int64_t> some(first + static_cast<std::ptrdiff_t>(begin),
                                       first + static_cast<std::ptrdiff_t>(end));
  work(FramesInUse(buffer_, comm_, some, give_back_).frames());
}

std::string StoredBatch::steps() const
{
  std::string text;
  for (const std::int64_t place : places_) text += step_of(buffer_.frame(place));
  return text;
}

}  // namespace dptrain
