// libFuzzer: any bytes at the parsers of .npy, extended XYZ, type.raw and frames files, and at the guard of HDF5 files.
// The first byte chooses the parser. Parsers may throw dptrain::Error, nothing else.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/text_words.h"
#include "data/extxyz_file.h"
#include "data/npy.h"
#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/frames/whole_frame.h"
#include "io/hdf5_guard.h"

namespace {

using namespace dptrain;

void read_npy_bytes(const std::string &bytes)
{
  const NpyHeader header =
      parse_npy_header(bytes, static_cast<std::int64_t>(bytes.size()), "a.npy");
  if (header.count > static_cast<std::int64_t>(bytes.size())) std::abort();
  std::vector<double> values(static_cast<std::size_t>(header.count));
  decode_numbers(header.type, bytes.data() + header.data, values.size(), values.data());
}

void read_extxyz(const std::string &bytes)
{
  const auto read = [&](char *data, std::size_t count, std::int64_t offset) {
    return bytes.copy(data, count, static_cast<std::size_t>(offset));
  };
  const ExtxyzIndex index = scan_extxyz(read, "a.extxyz");
  std::map<std::string, int, std::less<>> types;
  for (const auto &name : index.species) types.emplace(name, static_cast<int>(types.size()));
  for (std::size_t k = 0; k < index.frames.size(); ++k) {
    const auto &start = index.frames[k];
    const auto end = k + 1 < index.frames.size() ? index.frames[k + 1].offset : index.end;
    const std::string_view text(bytes.data() + start.offset,
                                static_cast<std::size_t>(end - start.offset));
    const WholeFrame frame = parse_extxyz_frame(text, start.line, "a.extxyz", types);
    if (static_cast<std::int64_t>(frame.type.size()) != start.natoms) std::abort();
  }
}

/// CRC-32 of ISO 3309, bit by bit.
std::uint32_t checksum(const std::string &bytes)
{
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

/// A file in memory with a name that can be opened.
void read_frames(const std::string &bytes)
{
  static const int file = ::memfd_create("frames", 0);
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  FramesFile::read("/proc/self/fd/" + std::to_string(file), -1);
}

/// The bytes as payload of a record whose length and checksum are right.
void read_record(const std::string &payload)
{
  std::string bytes("DPFRAMES\1\0\0\0\4\3\2\1", 16);
  const std::uint64_t length = payload.size();
  const std::uint32_t crc[2] = {checksum(payload), 0};
  bytes.append(reinterpret_cast<const char *>(&length), 8);
  bytes.append(reinterpret_cast<const char *>(crc), 8);
  read_frames(bytes + payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char *>(data) + 1, size - 1);
  try {
    switch (data[0] % 6) {
    case 0:
      read_npy_bytes(bytes);
      break;
    case 1:
      read_extxyz(bytes);
      break;
    case 2:
      whole_numbers(words_of(bytes), "type.raw");
      break;
    case 3:
      read_frames(bytes);
      break;
    case 4:
      read_record(bytes);
      break;
    default:
      are_sound_strings(bytes);
    }
  } catch (const Error &) {
  }
  return 0;
}
