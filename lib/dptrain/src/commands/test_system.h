#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "commands/test_frame.h"
#include "dptrain/commands/commands.h"
#include "dptrain/data/data_set.h"

namespace dptrain {

/// What a test finds.
struct SystemErrors {
  ErrorSums sums;
  BarCoverage bars;
};

/// Tests systems by all ranks together, in blocks of frames of bounded memory.
class SystemTest {
 public:
  /// `baseline`: of the potential; empty: there is none. `block_numbers`: results (float64) that a block has at most, as long as each rank gets a frame.
  SystemTest(std::shared_ptr<const Communicator> comm, std::shared_ptr<Model> model, bool atomic,
             bool details, EvaluateBaseline baseline = {},
             std::size_t block_numbers = std::size_t(1) << 20);
  /// Called on rank 0 with the details of a frame (frame_details()) and its number of atoms, frame after frame.
  using Receive = std::function<void(const double *row, std::int64_t natoms)>;
  /// Sums of the errors over the given frames, added in their order; the same on all ranks. Collective; throws Error on
  /// all ranks.
  SystemErrors run(const DataSystem &system, const std::vector<std::int64_t> &frames,
                   const Receive &receive) const;

 private:
  struct Block;
  Block next_block(const DataSystem &system, const std::vector<std::int64_t> &frames,
                   std::size_t first, bool together) const;
  /// Errors and details of one frame by the ranks of `comm`, as a flat array.
  std::vector<double> test(const DataSystem &system, std::int64_t frame,
                           const std::shared_ptr<const Communicator> &comm) const;
  /// The records of this rank's frames, one after the other. `together`: all ranks test each frame.
  std::vector<double> test_block(const DataSystem &system, const Block &block, bool together) const;
  /// The records of all ranks, rank after rank, on rank 0.
  std::vector<double> gather(const Block &block, const std::vector<double> &mine) const;
  void add(const Block &block, const std::vector<double> &records, SystemErrors &errors,
           const Receive &receive) const;
  std::size_t head_size() const;

  std::shared_ptr<const Communicator> comm_, alone_;
  std::shared_ptr<Model> model_;
  bool atomic_, details_;
  EvaluateBaseline baseline_;
  std::size_t block_numbers_;
};

}  // namespace dptrain
