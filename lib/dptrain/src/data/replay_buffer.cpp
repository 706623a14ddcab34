#include "data/replay_buffer.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <string>

#include "base/advice.h"
#include "base/random.h"
#include "dptrain/base/error.h"

namespace dptrain {

std::int64_t ReplayBuffer::add(Frame frame)
{
  std::int64_t place = size();
  if (capacity_ <= 0 || place < capacity_) {
    frames_.emplace_back();
    stays_.push_back(Stays::all);
    bytes_.push_back(0);
    spilled_.emplace_back();
  } else {
    place = next_place_;
    next_place_ = (place + 1) % capacity_;
    kept_bytes_ -= bytes_[place];
  }
  stays_[place] = put_aside(frame, place);
  frames_[place] = std::move(frame);
  release(place);
  return place;
}

ReplayBuffer::Stays ReplayBuffer::put_aside(const Frame &frame, std::int64_t place)
{
  bytes_[place] = frame.memory_bytes();
  if (kept_bytes_ + bytes_[place] <= memory_) {
    kept_bytes_ += bytes_[place];
    return Stays::all;
  }
  bytes_[place] = 0;
  try {
    spill_.put(frame, spilled_[place]);
    return Stays::without_arrays;
  } catch (const Error &error) {  // the disk is full: the training goes on, slower
    if (scratch_trouble_.empty()) scratch_trouble_ = error.what();
    return Stays::without_rows;
  }
}

const Frame &ReplayBuffer::use(std::int64_t index)
{
  frame(index);  // there is one
  Frame &used = frames_[index];
  if (used.has_neighbors()) return used;
  if (stays_[index] == Stays::without_arrays)
    spill_.get(spilled_[index], used);
  else
    used.find_neighbors();
  return used;
}

void ReplayBuffer::release(std::int64_t index)
{
  if (stays_[index] == Stays::without_rows) frames_[index].drop_neighbors();
  if (stays_[index] == Stays::without_arrays) frames_[index].drop_arrays();
}

// What the next step of the epoch will use.
void ReplayBuffer::prefetch()
{
  const std::size_t end = std::min(order_.size(), position_ + ahead_);
  for (std::size_t k = position_; k < end; ++k)
    if (order_[k] < size() && stays_[order_[k]] == Stays::without_arrays)
      spill_.prefetch(spilled_[order_[k]]);
}

const Frame &ReplayBuffer::frame(std::int64_t index) const
{
  if (index < 0 || index >= size())
    throw internal_error(
        fmt::format("There is no frame {} in the replay buffer: it holds {} frames, counted from 0",
                    index, size()));
  return frames_[index];
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
  if (frames_.empty()) throw Error("Training needs at least one labeled frame: there is none yet");
  if (position_ >= order_.size()) start_epoch(epoch_ + 1, size());
  if (static_cast<std::int64_t>(order_.size()) > size())
    throw Error(fmt::format("The checkpoint was written with {} frames or more, only {} are here; "
                            "copy FILE.frames, which belongs to the checkpoint, again",
                            order_.size(), size()));
  const std::size_t n = std::min<std::size_t>(std::max(batch_size, 1), order_.size() - position_);
  std::vector<std::int64_t> batch(order_.begin() + position_, order_.begin() + position_ + n);
  position_ += n;
  ahead_ = n;
  prefetch();
  return batch;
}

State ReplayBuffer::state() const
{
  State state;
  state.set_integer("epoch", epoch_);
  state.set_integer("position", static_cast<std::int64_t>(position_));
  state.set_integer("frames", static_cast<std::int64_t>(order_.size()));
  return state;
}

void ReplayBuffer::set_state(const State &state)
{
  const std::int64_t position = state.count("position"), frames = state.count("frames");
  if (position > frames) state.fail("the position in the order is beyond its end");
  start_epoch(state.count("epoch"), frames);
  position_ = static_cast<std::size_t>(position);
}

MemoryLedger ReplayBuffer::memory() const
{
  MemoryLedger ledger{{"frames", 0}, {"neighbor rows", 0}, {"halo", 0}};
  for (const Frame &frame : frames_) add_frame(ledger, frame);
  return ledger;
}

}  // namespace dptrain
