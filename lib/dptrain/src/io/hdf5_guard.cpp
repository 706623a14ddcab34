#include "io/hdf5_guard.h"

#include <cstring>
#include <optional>

namespace dptrain {

namespace {

constexpr std::uint64_t header_size = 16;  // of a collection, and of an object in it

std::uint64_t integer_at(const char *bytes, int count)
{
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// A collection of objects, and one of them.
struct Collection {
  std::uint64_t size = 0;               ///< 0: HDF5 must not read it
  std::optional<std::uint64_t> object;  ///< bytes of the object that was asked for
};

/// Walks through the objects of the collection at `address`, which must fill it.
Collection walk(const ReadAt &read, std::uint64_t file_size, std::uint64_t address,
                std::uint64_t index)
{
  char header[header_size];
  if (address > file_size || file_size - address < header_size ||
      read(header, header_size, static_cast<std::int64_t>(address)) != header_size ||
      std::memcmp(header, "GCOL\1", 5) != 0)
    return {};
  Collection collection;
  const std::uint64_t size = integer_at(header + 8, 8);
  if (size < header_size || size > file_size - address) return {};
  // a rest that is too small for a header is free
  for (std::uint64_t position = header_size; size - position >= header_size;) {
    if (read(header, header_size, static_cast<std::int64_t>(address + position)) != header_size)
      return {};
    const std::uint64_t here = integer_at(header, 2), bytes = integer_at(header + 8, 8);
    const std::uint64_t left = size - position;
    if (bytes > left) return {};
    // free space counts its header, an object does not and is filled up to a multiple of 8
    const std::uint64_t needed = here == 0 ? bytes : header_size + (bytes + 7) / 8 * 8;
    if (needed < header_size || needed > left) return {};
    if (here == index) collection.object = bytes;
    position += needed;
  }
  collection.size = size;
  return collection;
}

/// True if HDF5 stays within its memory. The attribute may have been deleted since, so its object need not exist.
bool is_possible(const ReadAt &read, std::uint64_t file_size, const HeapReference &reference)
{
  // HDF5's buffer for a string: a multiple of this
  constexpr std::uint64_t buffer = 4096;
  const Collection collection = walk(read, file_size, reference.address, reference.index);
  if (collection.size == 0) return true;  // HDF5 sees this itself
  return reference.index <= collection.size / header_size &&
         collection.object.value_or(0) <= (reference.length / buffer + 1) * buffer;
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
  const Collection collection =
      walk(read, static_cast<std::uint64_t>(file_size), reference.address, reference.index);
  return reference.index > 0 && collection.size > 0 && collection.object == reference.length;
}

bool are_sound_strings(const std::string &bytes)
{
  const ReadAt read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.copy(data, count, static_cast<std::size_t>(offset));
  };
  const std::string collection("GCOL\1", 5);
  for (auto place = bytes.find(collection); place != std::string::npos;
       place = bytes.find(collection, place + 1))
    if (walk(read, bytes.size(), place, 0).size == 0) return false;
  // an attribute's type, a string of variable length: 19, flags, 16 bytes, then characters: 13, flags, 1 byte;
  // then its space, a scalar, in one of two versions; then the reference
  const std::string middle("\x10\0\0\0\x13", 5);
  const std::string spaces[] = {std::string("\1\0\0\0\0\0\0\0", 8), std::string("\2\0\0\0", 4)};
  for (auto place = bytes.find(middle); place != std::string::npos;
       place = bytes.find(middle, place + 1)) {
    if (place < 4 || place + 12 > bytes.size() || bytes[place - 4] != '\x19') continue;
    for (const auto &space : spaces) {
      const std::size_t start = place + 12 + space.size();
      if (bytes.compare(place + 12, space.size(), space) != 0 ||
          start + HeapReference::bytes > bytes.size())
        continue;
      if (!is_possible(read, bytes.size(), HeapReference(&bytes[start]))) return false;
    }
  }
  return true;
}

}  // namespace dptrain
