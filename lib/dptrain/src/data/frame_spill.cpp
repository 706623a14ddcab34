#include "data/frame_spill.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "dptrain/base/error.h"
#include "io/file.h"

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

FrameSpill::FrameSpill() = default;
FrameSpill::~FrameSpill() = default;
FrameSpill::FrameSpill(FrameSpill &&) noexcept = default;
FrameSpill &FrameSpill::operator=(FrameSpill &&) noexcept = default;

// A record: the lengths of all arrays, then the arrays.
void FrameSpill::put(const Frame &frame, Place &place)
{
  if (!file_) file_ = File::scratch(scratch_folder());
  std::vector<std::uint64_t> lengths;
  std::size_t bytes = 0;
  Frame::for_arrays(frame, [&](const auto &array) {
    lengths.push_back(array.size());
    bytes += bytes_of(array);
  });
  bytes += bytes_of(lengths);
  const std::int64_t offset = place.room >= bytes ? place.offset : end_;
  if (offset == end_) require_room(bytes);
  std::int64_t position = offset;
  const auto write = [&](const auto &array) {
    if (!array.empty()) file_->write(array.data(), bytes_of(array), position);
    position += static_cast<std::int64_t>(bytes_of(array));
  };
  try {
    write(lengths);
    Frame::for_arrays(frame, write);
  } catch (...) {  // what was written is given back: others need the disk too
    if (offset == end_) file_->truncate(end_);
    throw;
  }
  if (offset == end_) {
    end_ = position;
    place.offset = offset;
    place.room = bytes;
  }
  place.bytes = bytes;
}

void FrameSpill::get(const Place &place, Frame &frame) const
{
  std::int64_t position = place.offset;
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

void FrameSpill::prefetch(const Place &place) const
{
  if (place.used()) file_->will_need(place.offset, place.bytes);
}

}  // namespace dptrain
