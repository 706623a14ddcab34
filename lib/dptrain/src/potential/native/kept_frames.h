#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "frames/frame_set.h"
#include "potential/descriptor/edge_chunk.h"
#include "potential/descriptor/edge_finder.h"

namespace dptrain {

/// A frame that will come again, in the memory of the kernels.
template <class Real> struct KeptFrame {
  std::shared_ptr<FrameSet> frames;
  std::vector<std::vector<EdgeChunk<Real>>> edges;  ///< by chunk, by finder
  std::vector<EdgeFinder::Report> reports;          ///< by finder
  std::size_t memory_bytes() const;
};

/// Those of a training, by Frame::number, up to a number of bytes. A frame that has not come for several rounds over all of them gives
/// its place to the next one that needs it.
template <class Real> class KeptFrames {
 public:
  /// Null if it is not there.
  const KeptFrame<Real> *find(std::uint64_t number);
  /// Whether a frame of this size would be kept, with at most `most` bytes of all; makes room for it.
  bool has_room(std::size_t bytes, std::size_t most);
  void keep(std::uint64_t number, KeptFrame<Real> frame);
  void clear();
  std::size_t memory_bytes() const { return bytes_; }

 private:
  struct Entry {
    KeptFrame<Real> frame;
    std::size_t bytes = 0;
    std::int64_t used = 0;  // what calls_ was
  };
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::size_t bytes_ = 0;
  std::int64_t calls_ = 0;
};

}  // namespace dptrain
