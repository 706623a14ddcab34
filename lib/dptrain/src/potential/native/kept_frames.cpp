#include "potential/native/kept_frames.h"

#include <iterator>
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
  const auto place = places_.find(number);
  if (place == places_.end()) return nullptr;
  const auto entry = place->second;
  entry->used = calls_;
  entries_.splice(entries_.end(), entries_, entry);
  return &entry->frame;
}

template <class Real> bool KeptFrames<Real>::make_room(std::size_t bytes, std::size_t most)
{
  constexpr std::int64_t rounds = 8;
  if (bytes > most) return false;
  while (bytes_ + bytes > most) {
    const Entry &oldest = entries_.front();
    if (calls_ - oldest.used < rounds * static_cast<std::int64_t>(entries_.size())) return false;
    bytes_ -= oldest.bytes;
    places_.erase(oldest.number);
    entries_.pop_front();
  }
  return true;
}

template <class Real> void KeptFrames<Real>::keep(std::uint64_t number, KeptFrame<Real> frame)
{
  const std::size_t bytes = frame.memory_bytes();
  entries_.push_back({number, std::move(frame), bytes, calls_});
  places_[number] = std::prev(entries_.end());
  bytes_ += bytes;
}

template <class Real> void KeptFrames<Real>::clear()
{
  const kernels::BesideSequences beside;
  places_.clear();
  entries_.clear();
  bytes_ = 0;
}

template struct KeptFrame<double>;
template struct KeptFrame<float>;
template class KeptFrames<double>;
template class KeptFrames<float>;

}  // namespace dptrain
