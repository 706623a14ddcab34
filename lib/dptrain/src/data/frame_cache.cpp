#include "data/frame_cache.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "dptrain/base/error.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/broadcast.h"
#include "frames/frame_check.h"

namespace dptrain {

namespace {

constexpr int frame_bits = 40;                                   // the rest of a key is the system
constexpr std::size_t least_room_aside = std::size_t(64) << 20;  // bytes

std::uint64_t key_of(const FrameId &id)
{
  return (std::uint64_t(id.system) << frame_bits) | static_cast<std::uint64_t>(id.frame);
}

}  // namespace

FrameCache::FrameCache(std::shared_ptr<const Communicator> comm, Systems systems,
                       Distributor distributor, double rcut, int ntypes, std::size_t budget,
                       double min_pair_dist) :
    comm_(std::move(comm)),
    distributor_(std::move(distributor)),
    systems_(std::move(systems)),
    rcut_(rcut),
    min_pair_dist_(min_pair_dist),
    shortest_(std::numeric_limits<double>::infinity()),
    ntypes_(ntypes),
    budget_(budget)
{
}

std::vector<const Frame *> FrameCache::load(const std::vector<FrameId> &ids)
{
  std::vector<const Frame *> frames;
  for (const FrameId &id : ids) {
    const Entry &found = entry(id);
    if (found.shortest < min_pair_dist_) continue;
    shortest_ = std::min(shortest_, found.shortest);
    frames.push_back(&found.frame);
  }
  put_aside(ids.size());
  return frames;
}

const FrameCache::Entry &FrameCache::entry(const FrameId &id)
{
  const std::uint64_t key = key_of(id);
  const auto place = places_.find(key);
  if (place != places_.end())
    entries_.splice(entries_.begin(), entries_, place->second);
  else if (aside_.count(key) > 0)
    bring_back(key);
  else
    read(id, key);
  return entries_.front();
}

void FrameCache::bring_back(std::uint64_t key)
{
  Entry &entry = aside_.at(key);
  guarded(*comm_, [&] { spill_.get(entry.place, entry.frame); });
  entries_.push_front(std::move(entry));
  aside_.erase(key);
  aside_bytes_ -= entries_.front().rest;
  places_[key] = entries_.begin();
  bytes_ += entries_.front().bytes;
}

void FrameCache::prefetch(const std::vector<FrameId> &ids) const
{
  for (const FrameId &id : ids) {
    const auto place = aside_.find(key_of(id));
    if (place != aside_.end()) spill_.prefetch(place->second.place);
  }
}

void FrameCache::read(const FrameId &id, std::uint64_t key)
{
  WholeFrame whole;
  guarded(*comm_, [&] {
    if (comm_->rank() == 0) whole = systems_.at(id.system)->read(id.frame);
  });
  broadcast(*comm_, whole);
  Frame frame;
  double shortest = 0.0;
  try {
    frame = distributor_.share(whole, rcut_);
    shortest = check_frame(*comm_, frame, ntypes_);
  } catch (const Error &e) {  // thrown on all ranks
    throw Error(fmt::format("{}, frame {}: {}", systems_[id.system]->name(), id.frame, e.what()));
  }
  // the ranks forget the same frames: each is as large as the largest of its shares
  const std::size_t rest = sizeof(Entry) + (frame.halo ? frame.halo->memory_bytes() : 0);
  std::int64_t sizes[2] = {static_cast<std::int64_t>(frame.memory_bytes() + rest),
                           static_cast<std::int64_t>(rest)};
  comm_->all_reduce_max(sizes, 2);
  entries_.push_front({key, std::move(frame), shortest, static_cast<std::size_t>(sizes[0]),
                       static_cast<std::size_t>(sizes[1])});
  places_[key] = entries_.begin();
  bytes_ += entries_.front().bytes;
  ++reads_;
}

// The oldest ones, but not those of the present batch.
void FrameCache::put_aside(std::size_t in_use)
{
  std::int64_t failed = disk_is_full_ ? 1 : 0;
  std::vector<Entry> leaving;
  std::size_t room = std::max(budget_ / 4, least_room_aside);
  room -= std::min(room, aside_bytes_);
  while (bytes_ > budget_ && entries_.size() > in_use) {
    Entry &oldest = entries_.back();
    bytes_ -= oldest.bytes;
    places_.erase(oldest.key);
    if (oldest.rest <= room) {
      room -= oldest.rest;
      leaving.push_back(std::move(oldest));
    }
    entries_.pop_back();
  }
  if (leaving.empty()) return;
  for (Entry &entry : leaving) try {
      if (failed == 0 && !entry.place.used()) spill_.put(entry.frame, entry.place);
    } catch (const std::exception &error) {  // the disk is full, or memory
      if (scratch_trouble_.empty()) scratch_trouble_ = error.what();
      failed = 1;
    }
  comm_->all_reduce_max(&failed, 1);
  disk_is_full_ = failed != 0;
  if (disk_is_full_) return;  // they will be read again
  for (Entry &entry : leaving) {
    entry.frame.drop_arrays();
    const std::uint64_t key = entry.key;
    aside_bytes_ += entry.rest;
    aside_.emplace(key, std::move(entry));
  }
}

MemoryLedger FrameCache::memory() const
{
  MemoryLedger ledger;
  for (const Entry &entry : entries_) add_frame(ledger, entry.frame);
  for (const auto &[key, entry] : aside_) add_frame(ledger, entry.frame);
  return ledger;
}

}  // namespace dptrain
