#include "data/frame_spill.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "dptrain/error.h"
#include "io/file.h"

namespace dptrain {

namespace {

// Every array that has a length of its own.
template <class AnyFrame, class Work> void for_arrays(AnyFrame &frame, const Work &work)
{
  auto &label = frame.label;
  work(frame.x);
  work(frame.type);
  work(frame.tag);
  work(frame.first);
  work(frame.neighbor);
  work(label.force);
  work(label.atom_energy);
  work(label.atom_pref);
  work(label.atom_ener_coeff);
  work(label.drdq);
}

std::string scratch_name()
{
  const char *folder = std::getenv("TMPDIR");
  return std::string(folder && *folder ? folder : ".") + "/.dptrain-frames." +
         std::to_string(getpid());
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
  if (!file_) {
    const std::string name = scratch_name();
    file_ = std::make_unique<File>(name, O_RDWR | O_CREAT | O_TRUNC);
    unlink(name.c_str());
  }
  std::vector<std::uint64_t> lengths;
  std::size_t bytes = 0;
  for_arrays(frame, [&](const auto &array) {
    lengths.push_back(array.size());
    bytes += bytes_of(array);
  });
  bytes += bytes_of(lengths);
  const std::int64_t offset = place.room >= bytes ? place.offset : end_;
  std::int64_t position = offset;
  const auto write = [&](const auto &array) {
    if (!array.empty()) file_->write(array.data(), bytes_of(array), position);
    position += static_cast<std::int64_t>(bytes_of(array));
  };
  write(lengths);
  for_arrays(frame, write);
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
  for_arrays(frame, [&](const auto &) { ++arrays; });
  std::vector<std::uint64_t> lengths(arrays);
  read(lengths);
  auto length = lengths.begin();
  for_arrays(frame, [&](auto &array) { array.resize(*length++); });
  for_arrays(frame, read);
}

void FrameSpill::prefetch(const Place &place) const
{
  if (place.used()) file_->will_need(place.offset, place.bytes);
}

void FrameSpill::drop(Frame &frame)
{
  for_arrays(frame, [](auto &array) { std::decay_t<decltype(array)>().swap(array); });
}

}  // namespace dptrain
