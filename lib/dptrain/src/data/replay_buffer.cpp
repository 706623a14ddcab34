#include "data/replay_buffer.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "dptrain/base/error.h"

namespace dptrain {

std::int64_t ReplayBuffer::add(Frame frame)
{
  std::int64_t place = size();
  if (capacity_ > 0 && place >= capacity_) {
    place = next_place_;
    next_place_ = (place + 1) % capacity_;
  }
  put(place, std::move(frame));
  release(place);
  return place;
}

void ReplayBuffer::start_epoch(std::int64_t epoch, std::int64_t frames)
{
  // a generator of its own for each epoch: the state of the order is then three small numbers
  RandomEngine random = numbered_engine(seed_, static_cast<std::uint64_t>(epoch));
  order_.resize(frames);
  std::iota(order_.begin(), order_.end(), std::int64_t(0));
  for (std::uint64_t k = order_.size(); k > 1; --k)
    std::swap(order_[k - 1], order_[random_index(random, k)]);
  epoch_ = epoch;
  position_ = 0;
}

std::vector<std::int64_t> ReplayBuffer::next_batch(int batch_size)
{
  if (size() == 0) throw Error("Training needs at least one labeled frame: there is none yet");
  if (position_ >= order_.size()) start_epoch(epoch_ + 1, size());
  if (static_cast<std::int64_t>(order_.size()) > size())
    throw Error(fmt::format("The checkpoint was written with {} frames or more, only {} are here; "
                            "copy FILE.frames, which belongs to the checkpoint, again",
                            order_.size(), size()));
  const std::size_t n = std::min<std::size_t>(std::max(batch_size, 1), order_.size() - position_);
  std::vector<std::int64_t> batch(order_.begin() + position_, order_.begin() + position_ + n);
  position_ += n;
  // what the next step will use
  for (std::size_t k = position_; k < std::min(order_.size(), position_ + n); ++k)
    prefetch(order_[k]);
  return batch;
}

ReplayBuffer::Position ReplayBuffer::position() const
{
  return {epoch_, static_cast<std::int64_t>(position_), static_cast<std::int64_t>(order_.size())};
}

void ReplayBuffer::go_to(const Position &where)
{
  start_epoch(where.epoch, where.frames);
  position_ = static_cast<std::size_t>(where.position);
}

}  // namespace dptrain
