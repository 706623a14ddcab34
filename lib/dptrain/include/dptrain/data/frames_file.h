#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Append-only log of labeled frames beside a checkpoint, fsynced per frame. Used on rank 0.
class FramesFile {
 public:
  /// Opens for appending after the first `keep` frames (later ones are cut off); creates the file with keep = 0.
  FramesFile(const std::string &path, std::int64_t keep);
  ~FramesFile();
  void append(const WholeFrame &frame);
  /// The first `count` frames; with count = -1 all that are complete.
  static std::vector<WholeFrame> read(const std::string &path, std::int64_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain
