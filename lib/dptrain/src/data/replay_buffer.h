#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/frame_pool.h"

namespace dptrain {

/// The labeled frames of a training and the order in which batches see them: epochs, each a random permutation of all
/// frames that were there when it began. The order depends on the seed alone, on every rank and machine the same.
class ReplayBuffer : private FramePool {
 public:
  /// With a capacity, the frame number k (counted from 0) takes place k % capacity; 0 keeps all frames. `memory` as for
  /// FramePool.
  explicit ReplayBuffer(std::uint64_t seed, std::int64_t capacity = 0,
                        std::size_t memory = std::size_t(1) << 30) :
      FramePool(memory), seed_(seed), capacity_(capacity)
  {
  }
  using FramePool::disk_bytes, FramePool::frame, FramePool::memory, FramePool::release,
      FramePool::scratch_trouble, FramePool::size, FramePool::use;

  /// A new frame joins the next epoch; one that takes the place of the oldest joins at once. Returns the place.
  std::int64_t add(Frame frame);

  /// Indices of the next batch_size frames; fewer at the end of an epoch. Throws Error if the buffer is empty.
  std::vector<std::int64_t> next_batch(int batch_size);

  /// Position in the order. The frames themselves are not part of it.
  struct Position {
    std::int64_t epoch = 0, position = 0, frames = 0;
    template <class Visit> void fields(Visit &visit)
    {
      visit("epoch, position, frames", epoch, position, frames);
    }
    std::string damage() const
    {
      const bool fits = epoch >= 0 && position >= 0 && position <= frames;
      return fits ? "" : "the position in the order is beyond its ends";
    }
  };
  Position position() const;
  void go_to(const Position &where);

 private:
  void start_epoch(std::int64_t epoch, std::int64_t frames);

  std::uint64_t seed_;
  std::int64_t capacity_, next_place_ = 0, epoch_ = 0;
  std::size_t position_ = 0;
  std::vector<std::int64_t> order_;  // of the present epoch
};

}  // namespace dptrain
