#include "data/replay_buffer.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "dptrain/error.h"

namespace dptrain {

namespace {

/// A number below n, each equally likely. The standard's distributions differ between libraries, its engines do not.
std::uint64_t below(std::mt19937_64 &random, std::uint64_t n)
{
  const std::uint64_t limit = std::mt19937_64::max() - std::mt19937_64::max() % n;
  std::uint64_t value;
  do value = random();
  while (value >= limit);
  return value % n;
}

template <class T> std::size_t bytes(const std::vector<T> &v)
{
  return v.capacity() * sizeof(T);
}

}  // namespace

std::int64_t ReplayBuffer::add(Frame frame)
{
  if (capacity_ <= 0 || size() < capacity_) {
    frames_.push_back(std::move(frame));
    return size() - 1;
  }
  const std::int64_t place = next_place_;
  frames_[place] = std::move(frame);
  next_place_ = (place + 1) % capacity_;
  return place;
}

const Frame &ReplayBuffer::frame(std::int64_t index) const
{
  if (index < 0 || index >= size())
    throw Error("There is no frame " + std::to_string(index) + " in the replay buffer: it holds " +
                std::to_string(size()) + " frames, counted from 0");
  return frames_[index];
}

void ReplayBuffer::start_epoch(std::int64_t epoch, std::int64_t frames)
{
  // a generator of its own for each epoch: the state of the order is then three small numbers
  const std::uint64_t number = epoch;
  std::seed_seq seed{std::uint32_t(seed_), std::uint32_t(seed_ >> 32), std::uint32_t(number),
                     std::uint32_t(number >> 32)};
  std::mt19937_64 random(seed);
  order_.resize(frames);
  std::iota(order_.begin(), order_.end(), std::int64_t(0));
  for (std::uint64_t k = order_.size(); k > 1; --k)
    std::swap(order_[k - 1], order_[below(random, k)]);
  epoch_ = epoch;
  position_ = 0;
}

std::vector<std::int64_t> ReplayBuffer::next_batch(int batch_size)
{
  if (frames_.empty()) throw Error("Training needs at least one labelled frame: there is none yet");
  if (position_ >= order_.size()) start_epoch(epoch_ + 1, size());
  if (static_cast<std::int64_t>(order_.size()) > size())
    throw Error("The checkpoint was written with " + std::to_string(order_.size()) +
                " frames or more, only " + std::to_string(size()) + " are here");
  const std::size_t n = std::min<std::size_t>(std::max(batch_size, 1), order_.size() - position_);
  std::vector<std::int64_t> batch(order_.begin() + position_, order_.begin() + position_ + n);
  position_ += n;
  return batch;
}

std::vector<double> ReplayBuffer::state() const
{
  return {static_cast<double>(epoch_), static_cast<double>(position_),
          static_cast<double>(order_.size())};
}

void ReplayBuffer::set_state(const std::vector<double> &state)
{
  if (state.size() != 3 || !(state[0] >= 0.0) || !(state[1] >= 0.0) || !(state[2] >= state[1]))
    throw Error("The state of the replay buffer is damaged: it must be three numbers, epoch, "
                "position and frames of the epoch");
  start_epoch(static_cast<std::int64_t>(state[0]), static_cast<std::int64_t>(state[2]));
  position_ = static_cast<std::size_t>(state[1]);
}

std::size_t ReplayBuffer::memory_bytes() const
{
  std::size_t total = 0;
  for (const Frame &f : frames_)
    total += sizeof(Frame) + bytes(f.x) + bytes(f.type) + bytes(f.tag) + bytes(f.first) +
             bytes(f.neighbor) + bytes(f.label.force);
  return total;
}

}  // namespace dptrain
