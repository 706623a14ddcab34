#include <algorithm>

#include "optimizer/sharded_optimizer.h"

namespace dptrain {

namespace {

class Adam final : public ShardedOptimizer {
 public:
  Adam(const OptimizerConfig &config, const std::vector<ParameterBlock> &index,
       const std::shared_ptr<const Communicator> &comm, std::size_t total) :
      ShardedOptimizer("Adam", config, comm, equal_parts(total, comm->size()),
                       std::vector<std::size_t>(comm->size(), 0))
  {
    for (const ParameterBlock &block : index) {
      const std::size_t begin = std::max(block.offset, partition_.begin);
      const std::size_t end = std::min(block.offset + block.size, partition_.end);
      if (block.trainable && begin < end)
        append(ranges_, begin - partition_.begin, end - partition_.begin);
    }
  }

 private:
  void change_own(double *parameters, const double *gradient, double lr) override
  {
    change_ranges(ranges_, parameters, gradient, lr);
  }

  std::vector<Range> ranges_;  // trainable, from the start of the own range
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerConfig &config,
                                     const std::vector<ParameterBlock> &index,
                                     const std::shared_ptr<const Communicator> &comm)
{
  std::size_t total = 0;
  for (const ParameterBlock &block : index) total = std::max(total, block.offset + block.size);
  return std::make_unique<Adam>(config, index, comm, total);
}

}  // namespace dptrain
