#include "data/frames_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/advice.h"
#include "dptrain/base/error.h"

namespace dptrain {

namespace {

constexpr char magic[] = "DPFRAMES";
constexpr std::uint32_t version = 4, order_mark = 0x01020304;
constexpr std::int64_t fixed_header_size = 24;  // the names follow
constexpr std::int64_t record_header_size = 16;
constexpr std::uint64_t periodic = 1, with_energy = 2, with_force = 4, with_virial = 8,
                        held_out = 16, with_weight = 32, with_baseline = 64, with_charge = 128,
                        with_frame_weight = 256;
constexpr std::uint64_t known_flags = periodic | with_energy | with_force | with_virial | held_out |
                                      with_weight | with_baseline | with_charge | with_frame_weight;

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

/// What all headers begin with.
std::string first_bytes()
{
  std::string bytes(magic, 8);
  put(bytes, &version, 1);
  put(bytes, &order_mark, 1);
  return bytes;
}

struct ElementNames {
  std::uint32_t length = 0, crc = 0;
};

/// Of the names behind a header; 0 where it is cut.
ElementNames names_of_header(const std::string &header)
{
  ElementNames names;
  if (header.size() == fixed_header_size)
    std::memcpy(&names, header.data() + fixed_header_size - sizeof names, sizeof names);
  return names;
}

}  // namespace

std::string frames_header(const std::vector<std::string> &type_map)
{
  std::string names;
  for (const std::string &name : type_map) names += name + "\n";
  const ElementNames about{static_cast<std::uint32_t>(names.size()), crc32(names)};
  std::string bytes = first_bytes();
  put(bytes, &about, 1);
  return bytes + names;
}

bool is_frames_file(const std::string &start)
{
  return start.compare(0, 8, magic) == 0;
}

bool is_cut_frames_header(const File &file)
{
  std::string found(fixed_header_size, '\0');
  found.resize(file.read(found.data(), found.size(), 0));
  const std::string start = first_bytes().substr(0, found.size());
  if (found.compare(0, start.size(), start) != 0) return false;
  return file.size() < fixed_header_size + std::int64_t(names_of_header(found).length);
}

FramesHeader read_frames_header(const File &file)
{
  std::string found(fixed_header_size, '\0');
  found.resize(file.read(found.data(), found.size(), 0));
  if (!is_frames_file(found))
    throw Error(fmt::format("{}: not a file of labeled frames written by this program; it is left "
                            "as it is, choose another name",
                            file.path()));
  if (found.compare(0, first_bytes().size(), first_bytes()) != 0)
    throw Error(fmt::format("{}: labeled frames in another format (version or byte order); use the "
                            "version and the kind of machine that wrote it",
                            file.path()));
  const ElementNames expected = names_of_header(found);
  std::string names(std::min<std::int64_t>(expected.length, file.size()), '\0');
  names.resize(file.read(names.data(), names.size(), fixed_header_size));
  if (found.size() < fixed_header_size || names.size() != expected.length ||
      crc32(names) != expected.crc)
    throw Error(fmt::format("{}: damaged: the names of the elements are not whole; copy the file "
                            "again",
                            file.path()));
  FramesHeader header;
  header.end = fixed_header_size + static_cast<std::int64_t>(names.size());
  for (std::size_t begin = 0, end = 0; begin < names.size(); begin = end + 1) {
    end = std::min(names.find('\n', begin), names.size());
    header.type_map.push_back(names.substr(begin, end - begin));
  }
  return header;
}

bool read_frames_record(const File &file, std::int64_t size, std::int64_t &offset,
                        std::string &payload)
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

std::int64_t end_of_frames_record(const File &file, std::int64_t size, std::int64_t offset)
{
  if (size - offset < record_header_size) return size;
  std::uint64_t length = 0;
  file.read(&length, sizeof length, offset);
  const auto rest = static_cast<std::uint64_t>(size - offset - record_header_size);
  return length > rest ? size : offset + record_header_size + static_cast<std::int64_t>(length);
}

std::string frames_record(const WholeFrame &frame)
{
  const auto natoms = static_cast<std::int64_t>(frame.type.size());
  const Label &label = frame.label;
  const std::uint64_t flags =
      (frame.periodic ? periodic : 0) | (label.energy ? with_energy : 0) |
      (label.force.empty() ? 0 : with_force) | (label.virial ? with_virial : 0) |
      (frame.held_out ? held_out : 0) | (label.force_weight.empty() ? 0 : with_weight) |
      (frame.baseline ? with_baseline : 0) | (frame.charge ? with_charge : 0) |
      (label.frame_weight != 1.0 ? with_frame_weight : 0);
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
  if (frame.baseline) {
    const Label &baseline = *frame.baseline;
    const std::array<double, 9> virial = baseline.virial.value();
    put(bytes, &baseline.energy.value(), 1);
    put(bytes, baseline.force.data(), length);
    put(bytes, virial.data(), 9);
  }
  if (frame.charge) put(bytes, &*frame.charge, 1);
  if (flags & with_frame_weight) put(bytes, &label.frame_weight, 1);
  const std::uint64_t size = bytes.size();
  const std::uint32_t crc = crc32(bytes), zero = 0;
  std::string record;
  record.reserve(record_header_size + bytes.size());
  put(record, &size, 1);
  put(record, &crc, 1);
  put(record, &zero, 1);
  return record + bytes;
}

WholeFrame unpack_frame(const std::string &bytes, const FramesHeader &header,
                        const std::string &path)
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
  for (const int type : frame.type)
    if (type < 0 || type >= static_cast<int>(header.type_map.size()))
      throw Error(
          fmt::format("{}: damaged record: found type {}, but there are only the types 0 to "
                      "{}; copy the file again",
                      path, type, static_cast<int>(header.type_map.size()) - 1));
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
  if (flags & with_charge) in.get(&frame.charge.emplace(), 1);
  if (flags & with_frame_weight) in.get(&frame.label.frame_weight, 1);
  return frame;
}

}  // namespace dptrain
