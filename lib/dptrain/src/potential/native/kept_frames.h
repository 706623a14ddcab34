#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
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

/// Those of a training, by Frame::number, up to a number of bytes. One that has not come for several rounds over all of them gives
/// its place to another: it has left the training data. Those of more data than there is room for do not drive each other out.
template <class Real> class KeptFrames {
 public:
  /// Null if it is not there.
  const KeptFrame<Real> *find(std::uint64_t number);
  /// Makes room for a frame of this size among at most `most` bytes of all. False: there is none.
  bool make_room(std::size_t bytes, std::size_t most);
  void keep(std::uint64_t number, KeptFrame<Real> frame);
  void clear();
  std::size_t memory_bytes() const { return bytes_; }

 private:
  struct Entry {
    std::uint64_t number;
    KeptFrame<Real> frame;
    std::size_t bytes;
    std::int64_t used;  // what calls_ was
  };
  using Entries = std::list<Entry>;
  Entries entries_;  // the latest one last
  std::unordered_map<std::uint64_t, typename Entries::iterator> places_;
  std::size_t bytes_ = 0;
  std::int64_t calls_ = 0;
};

}  // namespace dptrain
