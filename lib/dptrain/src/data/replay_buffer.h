#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/frame_spill.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/base/state.h"
#include "dptrain/frames/frame.h"

namespace dptrain {

/// The labeled frames of a training and the order in which batches see them: epochs, each a random permutation of all
/// frames that were there when it began. The order depends on the seed alone, on every rank and machine the same.
class ReplayBuffer {
 public:
  /// With a capacity, the frame number k (counted from 0) takes place k % capacity; 0 keeps all frames.
  /// Frames stay in memory up to so many bytes; the arrays of further ones are on the scratch disk between two uses, or,
  /// where that is full, lose their neighbor rows, which are found anew for each use.
  explicit ReplayBuffer(std::uint64_t seed, std::int64_t capacity = 0,
                        std::size_t memory = std::size_t(1) << 30) :
      seed_(seed), capacity_(capacity), memory_(memory)
  {
  }

  /// A new frame joins the next epoch; one that takes the place of the oldest joins at once. Returns the place.
  std::int64_t add(Frame frame);
  std::int64_t size() const { return static_cast<std::int64_t>(frames_.size()); }
  /// Throws Error if there is no such frame. Its arrays may be elsewhere.
  const Frame &frame(std::int64_t index) const;
  /// The frame with its arrays and neighbor rows; until `release`, which forgets them again where there is no room.
  const Frame &use(std::int64_t index);
  void release(std::int64_t index);

  /// Indices of the next batch_size frames; fewer at the end of an epoch. Throws Error if the buffer is empty.
  std::vector<std::int64_t> next_batch(int batch_size);

  /// Position in the order. The frames themselves are not part of it.
  State state() const;
  void set_state(const State &state);
  /// Frames, neighbor rows, halo.
  MemoryLedger memory() const;
  /// Why a frame could not wait on this rank's scratch disk; empty if all could.
  const std::string &scratch_trouble() const { return scratch_trouble_; }
  std::int64_t disk_bytes() const { return spill_.disk_bytes(); }

 private:
  void start_epoch(std::int64_t epoch, std::int64_t frames);

  /// What remains in memory of a frame that is not in use.
  enum class Stays { all, without_rows, without_arrays };
  Stays put_aside(const Frame &frame, std::int64_t place);
  void prefetch();

  std::vector<Frame> frames_;
  std::vector<Stays> stays_;                // by place
  std::vector<std::size_t> bytes_;          // by place, of those that stay as a whole
  std::vector<FrameSpill::Place> spilled_;  // by place
  FrameSpill spill_;
  std::string scratch_trouble_;
  std::uint64_t seed_;
  std::int64_t capacity_;
  std::size_t memory_, kept_bytes_ = 0;
  std::int64_t next_place_ = 0;
  std::int64_t epoch_ = 0;
  std::size_t position_ = 0, ahead_ = 0;
  std::vector<std::int64_t> order_;  // of the present epoch
};

}  // namespace dptrain
