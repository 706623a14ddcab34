#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "io/file.h"

namespace dptrain {

// A file of labeled frames: header, then one record per frame. Numbers are in the byte order of the machine, which the header tells.
//   header: "DPFRAMES", uint32 version, uint32 order mark, uint32 length of the names, uint32 crc of the names,
//           names of the elements of types 0, 1, ..., a line each
//   record: uint64 length of the payload, uint32 crc of the payload, uint32 0, payload
//   payload: int64 step, int64 natoms, uint64 flags, double box[9], double coord[3 natoms],
//            int32 type[natoms], then if flagged double energy, force[3 natoms], virial[9],
//            force_weight[natoms], and of the baseline double energy, force[3 natoms], virial[9]

struct FramesHeader {
  std::vector<std::string> type_map;  ///< elements of the types
  std::int64_t end = 0;               ///< where the first record begins
};

std::string frames_header(const std::vector<std::string> &type_map);
/// By its first bytes.
bool is_frames_file(const std::string &start);
/// True for an empty file and for one whose header was not written to its end.
bool is_cut_frames_header(const File &file);
/// Throws Error for another file, another version, and a header that is not whole.
FramesHeader read_frames_header(const File &file);

/// The record of a frame.
std::string frames_record(const WholeFrame &frame);
/// Payload of the record at `offset`, which moves behind it; false at the end and at a cut or damaged record. size: of the file.
bool read_frames_record(const File &file, std::int64_t size, std::int64_t &offset,
                        std::string &payload);
/// Where the record at `offset` ends by its length: at the end of the file if it is cut off.
std::int64_t end_of_frames_record(const File &file, std::int64_t size, std::int64_t offset);
/// The frame of a payload; throws Error for a type without a name. `path` is for messages.
WholeFrame unpack_frame(const std::string &payload, const FramesHeader &header,
                        const std::string &path);

}  // namespace dptrain
