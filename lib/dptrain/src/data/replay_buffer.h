#pragma once

#include <cstdint>
#include <vector>

#include "dptrain/frame.h"
#include "dptrain/memory.h"

namespace dptrain {

/// The labelled frames of a training and the order in which batches see them: epochs, each a random permutation of all
/// frames that were there when it began. The order depends on the seed alone, on every rank and machine the same.
class ReplayBuffer {
 public:
  /// With a capacity, the frame number k (counted from 0) takes place k % capacity; 0 keeps all frames.
  /// Neighbour rows stay in memory up to list_bytes; those of further frames are found anew for each use.
  explicit ReplayBuffer(std::uint64_t seed, std::int64_t capacity = 0,
                        std::size_t list_bytes = std::size_t(1) << 30) :
      seed_(seed), capacity_(capacity), list_bytes_(list_bytes)
  {
  }

  /// A new frame joins the next epoch; one that takes the place of the oldest joins at once. Returns the place.
  std::int64_t add(Frame frame);
  std::int64_t size() const { return static_cast<std::int64_t>(frames_.size()); }
  /// Throws Error if there is no such frame.
  const Frame &frame(std::int64_t index) const;
  /// The frame with its neighbour rows; until `release`, which forgets them again where there is no room.
  const Frame &use(std::int64_t index);
  void release(std::int64_t index);

  /// Indices of the next batch_size frames; fewer at the end of an epoch. Throws Error if the buffer is empty.
  std::vector<std::int64_t> next_batch(int batch_size);

  /// Position in the order, as numbers. The frames themselves are not part of it.
  std::vector<double> state() const;
  void set_state(const std::vector<double> &state);
  /// Frames, neighbor rows, halo.
  MemoryLedger memory() const;

 private:
  void start_epoch(std::int64_t epoch, std::int64_t frames);

  std::vector<Frame> frames_;
  std::vector<char> keeps_rows_;  // by place: the rows are within list_bytes_
  std::uint64_t seed_;
  std::int64_t capacity_;
  std::size_t list_bytes_, kept_bytes_ = 0;
  std::int64_t next_place_ = 0;
  std::int64_t epoch_ = 0;
  std::size_t position_ = 0;
  std::vector<std::int64_t> order_;  // of the present epoch
};

}  // namespace dptrain
