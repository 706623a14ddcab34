#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dptrain/frames/frame.h"

namespace dptrain {

class File;

/// The arrays of frames that memory has no room for, on the scratch disk of this rank: a file without a name in the folder
/// TMPDIR, else in the present one, which is gone when the process ends. The system keeps in memory what it can of it.
class FrameSpill {
 public:
  FrameSpill();
  ~FrameSpill();
  FrameSpill(FrameSpill &&) noexcept;
  FrameSpill &operator=(FrameSpill &&) noexcept;

  /// Where the arrays of a frame are.
  struct Place {
    std::int64_t offset = -1;
    std::size_t bytes = 0, room = 0;
    bool used() const { return bytes > 0; }
  };
  /// Writes positions, types, tags, neighbor rows and labels of a frame; to the same place if it has room for them. Throws
  /// Error if the disk is full, but for the last GiB, which is left to others.
  void put(const Frame &frame, Place &place);
  /// Brings them back.
  void get(const Place &place, Frame &frame) const;
  /// Lets the system read them before they are asked for.
  void prefetch(const Place &place) const;
  std::int64_t disk_bytes() const { return end_; }

 private:
  std::unique_ptr<File> file_;  // made when it is needed
  std::int64_t end_ = 0;
};

}  // namespace dptrain
