#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/advice.h"
#include "dptrain/base/error.h"
#include "dptrain/data/frames_file.h"
#include "dptrain/frames/whole_frame.h"
#include "io/file.h"

namespace dptrain {

namespace {

// File: header, then one record per frame. Numbers in the byte order of the machine, which the
// header tells.
//   header: "DPFRAMES", uint32 version, uint32 order mark
//   record: uint64 length of the payload, uint32 crc of the payload, uint32 0, payload
//   payload: int64 step, int64 natoms, uint64 flags, double box[9], double coord[3 natoms],
//            int32 type[natoms], then if flagged double energy, force[3 natoms], virial[9],
//            force_weight[natoms], and of the baseline double energy, force[3 natoms], virial[9]
// Version 2 has force weights, and version 3 baselines, which programs that know earlier ones would not see: a file gets it with
// the first of them.
constexpr char magic[] = "DPFRAMES";
constexpr std::uint32_t first_version = 1, with_weights = 2, with_baselines = 3;
constexpr std::uint32_t order_mark = 0x01020304;
constexpr std::int64_t header_size = 16;
constexpr std::int64_t record_header_size = 16;
constexpr std::uint64_t periodic = 1, with_energy = 2, with_force = 4, with_virial = 8,
                        held_out = 16, with_weight = 32, with_baseline = 64;
constexpr std::uint64_t known_flags =
    periodic | with_energy | with_force | with_virial | held_out | with_weight | with_baseline;

/// CRC-32 of ISO 3309 (polynomial 0xEDB88320, reflected).
std::uint32_t crc32(const std::string &bytes)
{
  static const auto table = [] {
    std::array<std::uint32_t, 256> values{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0u);
      values[i] = value;
    }
    return values;
  }();
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const unsigned char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ byte) & 0xFF];
  return ~crc;
}

template <typename T> void put(std::string &bytes, const T *values, std::size_t count)
{
  bytes.append(reinterpret_cast<const char *>(values), count * sizeof(T));
}

/// Reads values out of a payload; throws if it is too short.
class Unpacker {
 public:
  Unpacker(const std::string &bytes, const std::string &path) : bytes_(bytes), path_(path) {}
  template <typename T> void get(T *values, std::size_t count)
  {
    check<T>(count);
    if (count > 0) std::memcpy(values, bytes_.data() + position_, count * sizeof(T));
    position_ += count * sizeof(T);
  }
  template <typename T> void get(std::vector<T> &values, std::size_t count)
  {
    check<T>(count);
    values.resize(count);
    get(values.data(), count);
  }

 private:
  template <typename T> void check(std::size_t count) const
  {
    if (count > (bytes_.size() - position_) / sizeof(T))
      throw Error(fmt::format(
          "{}: damaged record: shorter than its number of atoms needs; copy the file again",
          path_));
  }
  const std::string &bytes_;
  const std::string &path_;
  std::size_t position_ = 0;
};

std::string pack(const WholeFrame &frame)
{
  const auto natoms = static_cast<std::int64_t>(frame.type.size());
  const Label &label = frame.label;
  const std::uint64_t flags = (frame.periodic ? periodic : 0) | (label.energy ? with_energy : 0) |
                              (label.force.empty() ? 0 : with_force) |
                              (label.virial ? with_virial : 0) | (frame.held_out ? held_out : 0) |
                              (label.force_weight.empty() ? 0 : with_weight) |
                              (frame.baseline ? with_baseline : 0);
  const std::size_t length = 3 * frame.type.size();
  if (frame.coord.size() != length || (!label.force.empty() && label.force.size() != length) ||
      (!label.force_weight.empty() && label.force_weight.size() != frame.type.size()) ||
      (frame.baseline && frame.baseline->force.size() != length))
    throw internal_error(fmt::format("cannot store a frame of {} atoms with {} coordinates, {} "
                                     "force components and {} force weights",
                                     natoms, frame.coord.size(), label.force.size(),
                                     label.force_weight.size()));
  std::string bytes;
  put(bytes, &frame.step, 1);
  put(bytes, &natoms, 1);
  put(bytes, &flags, 1);
  put(bytes, frame.box.data(), 9);
  put(bytes, frame.coord.data(), length);
  put(bytes, frame.type.data(), frame.type.size());
  if (label.energy) put(bytes, &*label.energy, 1);
  put(bytes, label.force.data(), label.force.size());
  if (label.virial) put(bytes, label.virial->data(), 9);
  put(bytes, label.force_weight.data(), label.force_weight.size());
  if (!frame.baseline) return bytes;
  const Label &baseline = *frame.baseline;
  const std::array<double, 9> virial = baseline.virial.value();
  put(bytes, &baseline.energy.value(), 1);
  put(bytes, baseline.force.data(), length);
  put(bytes, virial.data(), 9);
  return bytes;
}

WholeFrame unpack(const std::string &bytes, const std::string &path)
{
  Unpacker in(bytes, path);
  WholeFrame frame;
  std::int64_t natoms = 0;
  std::uint64_t flags = 0;
  in.get(&frame.step, 1);
  in.get(&natoms, 1);
  in.get(&flags, 1);
  if (flags & ~known_flags)
    throw Error(fmt::format("{}: a record holds what this version of the program does not know; "
                            "use the version that wrote it",
                            path));
  in.get(frame.box.data(), 9);
  in.get(frame.coord, std::size_t(natoms) * 3);
  in.get(frame.type, std::size_t(natoms));
  frame.periodic = flags & periodic;
  frame.held_out = flags & held_out;
  if (flags & with_energy) in.get(&frame.label.energy.emplace(), 1);
  if (flags & with_force) in.get(frame.label.force, std::size_t(natoms) * 3);
  if (flags & with_virial) in.get(frame.label.virial.emplace().data(), 9);
  if (flags & with_weight) in.get(frame.label.force_weight, std::size_t(natoms));
  if (flags & with_baseline) {
    Label &baseline = frame.baseline.emplace();
    in.get(&baseline.energy.emplace(), 1);
    in.get(baseline.force, std::size_t(natoms) * 3);
    in.get(baseline.virial.emplace().data(), 9);
  }
  return frame;
}

std::string header(std::uint32_t version)
{
  std::string bytes(magic, 8);
  put(bytes, &version, 1);
  put(bytes, &order_mark, 1);
  return bytes;
}

/// The version of the file.
std::uint32_t check_header(const File &file)
{
  std::string found(header_size, '\0');
  found.resize(file.read(found.data(), header_size, 0));
  for (const std::uint32_t version : {first_version, with_weights, with_baselines})
    if (found == header(version)) return version;
  if (found.compare(0, 8, magic) != 0)
    throw Error(fmt::format("{}: not a file of labeled frames written by this program; it is left "
                            "as it is, choose another name",
                            file.path()));
  throw Error(fmt::format("{}: labeled frames in another format (version or byte order); use the "
                          "version and the kind of machine that wrote it",
                          file.path()));
}

/// True for an empty file and for one whose creation was interrupted.
bool is_header_start(const File &file)
{
  std::string found(header_size, '\0');
  found.resize(file.read(found.data(), header_size, 0));
  return header(first_version).compare(0, found.size(), found) == 0;
}

/// Payload of the record at `offset`, which moves behind it; false at the end or at a cut or damaged
/// record.
bool read_record(const File &file, std::int64_t size, std::int64_t &offset, std::string &payload)
{
  if (size - offset < record_header_size) return false;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  file.read(&length, sizeof length, offset);
  file.read(&crc, sizeof crc, offset + 8);
  if (length > std::uint64_t(size - offset - record_header_size)) return false;
  payload.resize(length);
  if (file.read(payload.data(), length, offset + record_header_size) != length) return false;
  if (crc32(payload) != crc) return false;
  offset += record_header_size + std::int64_t(length);
  return true;
}

[[noreturn]] void too_few(const std::string &path, std::int64_t found, std::int64_t expected)
{
  throw Error(fmt::format(
      "{}: holds {} complete frames, {} are needed; it does not belong to this checkpoint, or its "
      "end was lost: copy both files again, or start from the model file instead of resuming",
      path, found, expected));
}

}  // namespace

struct FramesFile::Impl {
  Impl(const std::string &path, int flags) : file(path, flags) {}
  File file;
  std::uint32_t version = first_version;
  std::int64_t end = header_size;
};

FramesFile::FramesFile(const std::string &path, std::int64_t keep)
{
  if (keep > 0) File(path, O_RDONLY);  // must exist: do not create an empty one
  impl_ = std::make_unique<Impl>(path, O_RDWR | O_CREAT);
  File &file = impl_->file;
  const std::int64_t size = file.size();
  if (keep == 0 && size < header_size && is_header_start(file))
    file.write(header(first_version).data(), header_size, 0);
  else
    impl_->version = check_header(file);
  std::string payload;
  for (std::int64_t count = 0; count < keep; ++count)
    if (!read_record(file, size, impl_->end, payload)) too_few(path, count, keep);
  file.truncate(impl_->end);
  file.sync();
  sync_folder_of(path);
}

FramesFile::~FramesFile() = default;

void FramesFile::append(const WholeFrame &frame)
{
  const std::string payload = pack(frame);
  const std::uint64_t length = payload.size();
  const std::uint32_t crc = crc32(payload), zero = 0;
  std::string record;
  record.reserve(record_header_size + payload.size());
  put(record, &length, 1);
  put(record, &crc, 1);
  put(record, &zero, 1);
  record += payload;
  File &file = impl_->file;
  const std::uint32_t needed = frame.baseline                     ? with_baselines
                               : frame.label.force_weight.empty() ? first_version
                                                                  : with_weights;
  if (impl_->version < needed) {
    file.write(header(needed).data(), header_size, 0);
    impl_->version = needed;
  }
  try {
    file.write(record.data(), record.size(), impl_->end);
    file.sync();
  } catch (const Error &) {
    try {
      file.truncate(impl_->end);
    } catch (const Error &) {
      // the first error tells more; a cut record is recognized when the file is read
    }
    throw;
  }
  impl_->end += static_cast<std::int64_t>(record.size());
}

std::vector<WholeFrame> FramesFile::read(const std::string &path, std::int64_t count)
{
  const File file(path, O_RDONLY);
  const std::int64_t size = file.size();
  if (size < header_size && count <= 0 && is_header_start(file))
    return {};  // its creation was interrupted
  check_header(file);
  std::int64_t offset = header_size;
  std::vector<WholeFrame> frames;
  std::string payload;
  while (count < 0 || static_cast<std::int64_t>(frames.size()) < count) {
    if (!read_record(file, size, offset, payload)) {
      if (count < 0) break;
      too_few(path, static_cast<std::int64_t>(frames.size()), count);
    }
    frames.push_back(unpack(payload, path));
  }
  return frames;
}

}  // namespace dptrain
