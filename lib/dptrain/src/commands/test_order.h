#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dptrain/commands/commands.h"

namespace dptrain {

/// Which frames of each system are tested, and in which order.
class FrameOrder {
 public:
  explicit FrameOrder(const TestOptions &options);
  /// Indices of the frames to test of a system with `frames` frames: the first ones, or, with `shuffle`, the first ones
  /// in a random order, which the seed determines. Every call goes on with the same sequence of random numbers.
  std::vector<std::int64_t> next(std::int64_t frames);

 private:
  std::int64_t most_;
  bool shuffled_;
  RandomEngine engine_;
};

}  // namespace dptrain
