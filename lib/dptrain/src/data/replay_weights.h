#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain {

/// Draws the frames of batches for a training that goes on while frames arrive: a quarter of the draws goes to the latest
/// four frames, the others to all with probabilities that follow their last force errors, within a third and three times
/// the mean. A frame whose error is not known counts with three times the mean. The draws depend on seed and errors
/// alone, on every rank and machine the same.
class ReplayWeights {
 public:
  explicit ReplayWeights(std::uint64_t seed) : seed_(seed) {}

  /// A new frame is at this place of the buffer.
  void add(std::int64_t place);
  /// Root mean square error of the forces of a frame, as its last batch has seen it; not finite: none is known.
  void set_error(std::int64_t place, double error);
  /// Places of a batch: batch_size draws without repetition, fewer where there are fewer frames. Throws Error if there is
  /// no frame.
  std::vector<std::int64_t> draw(int batch_size);

  /// Everything but the seed.
  template <class Visit> void fields(Visit &visit)
  {
    visit("draws, latest, errors", draws_, latest_, errors_);
  }
  /// What is wrong with fields that were read; empty: nothing.
  std::string damage() const;

 private:
  std::vector<double> weights() const;

  std::uint64_t seed_;
  std::int64_t draws_ = 0;
  std::vector<std::int64_t> latest_;
  std::vector<double> errors_;  // by place; negative: not known
};

}  // namespace dptrain
