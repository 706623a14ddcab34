#include "data/frame_pool.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <utility>
#include <vector>

#include "base/advice.h"
#include "base/unique_number.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

// What is left for checkpoints, labels and others on the same disk.
constexpr std::uintmax_t disk_reserve = std::uintmax_t(1) << 30;  // bytes

std::string scratch_folder()
{
  const char *folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : ".";
}

void require_room(std::size_t bytes)
{
  std::error_code none;
  const auto disk = std::filesystem::space(scratch_folder(), none);
  if (!none && disk.available < bytes + disk_reserve)
    throw Error(fmt::format("The disk of {} is nearly full: it has {} MiB left, of which 1024 are "
                            "not used: free space, or set TMPDIR to another disk",
                            scratch_folder(), disk.available >> 20));
}

template <class T> std::size_t bytes_of(const std::vector<T> &array)
{
  return array.size() * sizeof(T);
}

}  // namespace

const FramePool::Entry &FramePool::entry(std::int64_t number) const
{
  const auto found = entries_.find(number);
  if (found == entries_.end())
    throw internal_error(
        fmt::format("There is no frame {} in the pool: it holds {} frames", number, size()));
  return found->second;
}

FramePool::Entry &FramePool::entry(std::int64_t number)
{
  return const_cast<Entry &>(std::as_const(*this).entry(number));
}

bool FramePool::put(std::int64_t number, Frame frame)
{
  Entry &entry = entries_[number];
  forget(entry);
  entry.frame = std::move(frame);
  entry.frame.number = unique_number();
  const std::size_t halo = entry.frame.halo ? entry.frame.halo->memory_bytes() : 0;
  const std::size_t whole = entry.frame.memory_bytes() + halo, rest = sizeof(Entry) + halo;
  if (whole_ + whole <= memory_) {
    entry.stays = Stays::all;
    whole_ += entry.bytes = whole;
  } else if (aside_ + rest <= rest_ && write(entry)) {
    entry.stays = Stays::without_arrays;
    aside_ += entry.bytes = rest;
  }
  return entry.stays != Stays::without_rows;
}

// What it counts for, not its place on the disk.
void FramePool::forget(Entry &entry)
{
  (entry.stays == Stays::all ? whole_ : aside_) -= entry.bytes;
  entry.bytes = 0;
  entry.stays = Stays::without_rows;
}

void FramePool::erase(std::int64_t number)
{
  forget(entry(number));
  entries_.erase(number);
}

const Frame &FramePool::use(std::int64_t number)
{
  Entry &used = entry(number);
  if (used.frame.has_neighbors()) return used.frame;
  if (used.stays == Stays::without_arrays)
    read(used);
  else
    used.frame.find_neighbors();
  return used.frame;
}

void FramePool::release(std::int64_t number)
{
  Entry &used = entry(number);
  if (used.stays == Stays::without_rows) used.frame.drop_neighbors();
  if (used.stays == Stays::without_arrays) used.frame.drop_arrays();
}

void FramePool::prefetch(std::int64_t number) const
{
  const auto found = entries_.find(number);
  if (found != entries_.end() && found->second.stays == Stays::without_arrays)
    file_->will_need(found->second.offset, found->second.record_bytes);
}

// A record: the lengths of all arrays, then the arrays. It goes to the same place as before if that has room for it. False: the
// disk is full, or memory.
bool FramePool::write(Entry &entry)
{
  std::vector<std::uint64_t> lengths;
  std::size_t bytes = 0;
  Frame::for_arrays(entry.frame, [&](const auto &array) {
    lengths.push_back(array.size());
    bytes += bytes_of(array);
  });
  bytes += bytes_of(lengths);
  const bool at_end = entry.room < bytes;
  const std::int64_t offset = at_end ? end_ : entry.offset;
  std::int64_t position = offset;
  const auto write = [&](const auto &array) {
    if (!array.empty()) file_->write(array.data(), bytes_of(array), position);
    position += static_cast<std::int64_t>(bytes_of(array));
  };
  try {
    if (!file_) file_ = File::scratch(scratch_folder());
    if (at_end) require_room(bytes);
    write(lengths);
    Frame::for_arrays(entry.frame, write);
  } catch (const std::exception &error) {
    if (scratch_trouble_.empty()) scratch_trouble_ = error.what();
    // what was written is given back: others need the disk too
    if (file_ && at_end) file_->truncate(end_);
    return false;
  }
  if (at_end) {
    end_ = position;
    entry.offset = offset;
    entry.room = bytes;
  }
  entry.record_bytes = bytes;
  return true;
}

void FramePool::read(Entry &entry) const
{
  Frame &frame = entry.frame;
  std::int64_t position = entry.offset;
  const auto read = [&](auto &array) {
    const std::size_t bytes = bytes_of(array);
    if (bytes > 0 && file_->read(array.data(), bytes, position) != bytes)
      throw Error("The scratch file of frames is shorter than what was written to it: look at the "
                  "disk of TMPDIR");
    position += static_cast<std::int64_t>(bytes);
  };
  std::size_t arrays = 0;
  Frame::for_arrays(frame, [&](const auto &) { ++arrays; });
  std::vector<std::uint64_t> lengths(arrays);
  read(lengths);
  auto length = lengths.begin();
  try {
    Frame::for_arrays(frame, [&](auto &array) { array.resize(*length++); });
    Frame::for_arrays(frame, read);
  } catch (...) {  // a half is none
    frame.drop_arrays();
    throw;
  }
}

MemoryLedger FramePool::memory() const
{
  MemoryLedger ledger{{"frames", 0}, {"neighbor rows", 0}, {"halo", 0}};
  for (const auto &[number, entry] : entries_) add_frame(ledger, entry.frame);
  return ledger;
}

}  // namespace dptrain
