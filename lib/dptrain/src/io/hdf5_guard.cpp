#include "io/hdf5_guard.h"

#include <algorithm>
#include <cstring>

namespace dptrain {

namespace {

constexpr std::uint64_t header_size = 16;  // of a collection, and of an object in it
constexpr int any_object = -1;

std::uint64_t integer_at(const char *bytes, int count)
{
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// Walks through the objects of the collection at `address`. True if they fill it, and if object `index` is one of them
/// and has `length` bytes (not asked for with any_object).
bool is_sound_collection(const ReadAt &read, std::uint64_t file_size, std::uint64_t address,
                         std::int64_t index, std::uint64_t length)
{
  char header[header_size];
  if (address > file_size || file_size - address < header_size ||
      read(header, header_size, static_cast<std::int64_t>(address)) != header_size ||
      std::memcmp(header, "GCOL\1", 5) != 0)
    return false;
  const std::uint64_t size = integer_at(header + 8, 8);
  if (size < header_size || size > file_size - address) return false;
  bool found = index == any_object;
  // a rest that is too small for a header is free
  for (std::uint64_t position = header_size; size - position >= header_size;) {
    if (read(header, header_size, static_cast<std::int64_t>(address + position)) != header_size)
      return false;
    const auto here = static_cast<std::int64_t>(integer_at(header, 2));
    const std::uint64_t bytes = integer_at(header + 8, 8), left = size - position;
    // free space counts its header, an object does not and is filled up to a multiple of 8
    if (bytes > left) return false;
    const std::uint64_t needed = here == 0 ? bytes : header_size + (bytes + 7) / 8 * 8;
    if (needed < header_size || needed > left) return false;
    if (here == index) found = bytes == length;
    position += needed;
  }
  return found;
}

}  // namespace

HeapReference::HeapReference(const char *stored) :
    length(static_cast<std::uint32_t>(integer_at(stored, 4))),
    address(integer_at(stored + 4, 8)),
    index(static_cast<std::uint32_t>(integer_at(stored + 12, 4)))
{
}

bool is_sound_hdf5_start(const ReadAt &read)
{
  char start[16];
  if (read(start, sizeof start, 0) != sizeof start ||
      std::memcmp(start, "\x89HDF\r\n\x1a\n", 8) != 0)
    return false;
  // where the superblock tells the sizes of addresses and lengths depends on its version
  const int place = start[8] <= 1 ? 13 : 9;
  return start[place] == 8 && start[place + 1] == 8;
}

bool is_sound_string(const ReadAt &read, std::int64_t file_size, const HeapReference &reference)
{
  if (reference.address == 0) return reference.length == 0;
  return reference.index > 0 &&
         is_sound_collection(read, static_cast<std::uint64_t>(file_size), reference.address,
                             reference.index, reference.length);
}

bool are_sound_strings(const std::string &bytes)
{
  const ReadAt read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.copy(data, count, static_cast<std::size_t>(offset));
  };
  const std::string signature("GCOL\1", 5);
  for (auto address = bytes.find(signature); address != std::string::npos;
       address = bytes.find(signature, address + 1)) {
    if (!is_sound_collection(read, bytes.size(), address, any_object, 0)) return false;
    std::string stored(8, '\0');
    for (int i = 0; i < 8; ++i) stored[i] = static_cast<char>(address >> 8 * i & 0xFF);
    for (auto place = bytes.find(stored); place != std::string::npos;
         place = bytes.find(stored, place + 1)) {
      if (place < 4 || bytes.size() - place < 12) continue;
      if (!is_sound_string(read, static_cast<std::int64_t>(bytes.size()),
                           HeapReference(&bytes[place - 4])))
        return false;
    }
  }
  return true;
}

}  // namespace dptrain
