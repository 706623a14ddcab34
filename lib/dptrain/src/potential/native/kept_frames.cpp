#include "potential/native/kept_frames.h"

#include <algorithm>
#include <utility>

namespace dptrain {

template <class Real> std::size_t KeptFrame<Real>::memory_bytes() const
{
  std::size_t bytes = frames->memory_bytes();
  for (const auto &chunk : edges)
    for (const auto &one : chunk) bytes += one.memory_bytes();
  return bytes;
}

template <class Real> const KeptFrame<Real> *KeptFrames<Real>::find(std::uint64_t number)
{
  ++calls_;
  const auto found = entries_.find(number);
  if (found == entries_.end()) return nullptr;
  found->second.used = calls_;
  return &found->second.frame;
}

template <class Real> bool KeptFrames<Real>::has_room(std::size_t bytes, std::size_t most)
{
  // a frame that still comes is drawn in so many calls, but for chance
  constexpr std::int64_t rounds = 8;
  while (bytes_ + bytes > most && !entries_.empty()) {
    const auto oldest =
        std::min_element(entries_.begin(), entries_.end(), [](const auto &a, const auto &b) {
          return a.second.used < b.second.used;
        });
    if (calls_ - oldest->second.used < rounds * static_cast<std::int64_t>(entries_.size())) break;
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
  }
  return bytes_ + bytes <= most;
}

template <class Real> void KeptFrames<Real>::keep(std::uint64_t number, KeptFrame<Real> frame)
{
  Entry &entry = entries_[number];
  bytes_ -= entry.bytes;
  entry.bytes = frame.memory_bytes();
  entry.frame = std::move(frame);
  entry.used = calls_;
  bytes_ += entry.bytes;
}

template <class Real> void KeptFrames<Real>::clear()
{
  const kernels::BesideSequences beside;
  entries_.clear();
  bytes_ = 0;
}

template struct KeptFrame<double>;
template struct KeptFrame<float>;
template class KeptFrames<double>;
template class KeptFrames<float>;

}  // namespace dptrain
