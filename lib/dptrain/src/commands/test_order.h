#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "dptrain/commands/commands.h"

namespace dptrain {

/// Which frames of each system are tested, and in which order.
class FrameOrder {
 public:
  explicit FrameOrder(const TestOptions &options);
  /// Indices of the frames to test of a system with `frames` frames: the first ones, or, with `shuffle`, the first ones
  /// in the order that `dp test` has with this seed, which is that of numpy's RandomState. Every call goes on with the
  /// same sequence of random numbers.
  std::vector<std::int64_t> next(std::int64_t frames);

 private:
  void shuffle(std::vector<std::int64_t> &order);

  std::int64_t most_;
  bool shuffled_;
  std::mt19937 engine_;
};

}  // namespace dptrain
