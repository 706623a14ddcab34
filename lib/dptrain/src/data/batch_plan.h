#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/data/data_set.h"
#include "dptrain/input/config.h"

namespace dptrain {

/// One frame of a data set: its system, and its place in there.
struct FrameId {
  std::size_t system = 0;
  std::int64_t frame = 0;
};

/// Probability of each system to give a batch (DeePMD-kit's auto_prob and sys_probs); `batches` is how many each has.
/// Throws Error if the settings do not fit the number of systems.
std::vector<double> system_probabilities(const DataConfig &config,
                                         const std::vector<std::int64_t> &batches);

/// Which frames make the next batch. As in DeePMD-kit a system is drawn by its probability, and its frames come in a
/// random order that is a new one whenever all have been seen; the last batch of such an epoch may be smaller. The order
/// depends on the seed alone, on every rank and machine the same.
class BatchPlan {
 public:
  BatchPlan(const DataConfig &config, const Systems &systems, std::uint64_t seed);

  std::vector<FrameId> next();
  /// The batch that next() will give.
  const std::vector<FrameId> &peek();

  const std::vector<std::int64_t> &batch_sizes() const { return sizes_; }    ///< [systems]
  const std::vector<std::int64_t> &batches() const { return batches_; }      ///< [systems]
  const std::vector<double> &probabilities() const { return probability_; }  ///< [systems]
  /// Frames of a batch, in the mean over the batches.
  int frames_of_a_batch() const;
  /// Steps after which the system that is seen least often has been seen as a whole once: DeePMD-kit's epoch.
  std::int64_t steps_per_epoch() const;

  /// For a continuation with the same data; by system.
  struct Position {
    std::uint64_t draws = 0;
    std::vector<std::int64_t> frames, epochs, positions;
    template <class Visit> void fields(Visit &visit)
    {
      visit("draws, frames, epochs, positions", draws, frames, epochs, positions);
    }
    std::string damage() const;
  };
  Position position() const;
  /// False, and nothing changes, if the position is that of other data.
  bool go_to(const Position &position);

 private:
  struct Order {
    std::int64_t num_frames = 0, epoch = -1, position = 0;
    std::vector<std::int64_t> frames;  // of the present epoch; empty before the first
  };
  std::size_t draw_system();
  void shuffle(std::size_t system);
  std::int64_t next_frame(std::size_t system);

  std::vector<FrameId> draw();

  std::vector<FrameId> peeked_;
  std::optional<Position> before_peek_;  // as long as nobody has taken it
  bool mixed_;
  std::int64_t mixed_size_;
  std::uint64_t seed_, draws_ = 0;
  std::vector<std::int64_t> sizes_, batches_;
  std::vector<double> probability_;
  std::vector<Order> orders_;
};

/// Opens the systems of a data section that take part: those which `filter:N` leaves out are named to `log`.
Systems open_systems(const DataConfig &config, const DataOptions &options,
                     const std::function<void(const std::string &)> &log);

}  // namespace dptrain
