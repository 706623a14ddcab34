#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Labeled frames of a file; their types count the elements of `type_map`.
struct StoredFrames {
  std::vector<std::string> type_map;
  std::vector<WholeFrame> frames;
};

/// Append-only log of labeled frames beside a checkpoint, fsynced per frame. Used on rank 0.
class FramesFile {
 public:
  /// Opens for appending after the first `keep` frames (later ones are cut off); creates the file with keep = 0. The types of the
  /// frames are those of `type_map`, which must be that of the frames that are kept.
  FramesFile(const std::string &path, const std::vector<std::string> &type_map, std::int64_t keep);
  ~FramesFile();
  void append(const WholeFrame &frame);
  /// Adds a frame to the complete ones of a file, which is made if there is none. One with other types is put aside.
  static void append_to(const std::string &path, const std::vector<std::string> &type_map,
                        const WholeFrame &frame);
  /// Whether something is behind the last complete frame: the run that writes the file goes on, or was killed.
  static bool is_cut(const std::string &path);
  /// The first `count` frames; with count = -1 all that are complete.
  static StoredFrames read(const std::string &path, std::int64_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain
