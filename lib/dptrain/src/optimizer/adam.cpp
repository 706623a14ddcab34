#include <algorithm>

#include "optimizer/sharded_optimizer.h"

namespace dptrain {

namespace {

template <class T> class Adam final : public ShardedOptimizer<T> {
  using Base = ShardedOptimizer<T>;

 public:
  Adam(const OptimizerConfig &config, const std::vector<ParameterBlock> &index,
       const std::shared_ptr<const Communicator> &comm, std::size_t total) :
      Base("Adam", config, comm, equal_parts(total, comm->size()),
           std::vector<std::size_t>(comm->size(), 0))
  {
    const Partition &own = this->partition_;
    std::vector<kernels::Part> ranges;
    for (const ParameterBlock &block : index) {
      const std::size_t begin = std::max(block.offset, own.begin);
      const std::size_t end = std::min(block.offset + block.size, own.end);
      if (block.trainable && begin < end)
        ranges.push_back({static_cast<long>(begin - own.begin), static_cast<long>(end - begin)});
    }
    this->set_ranges(ranges);
  }

 private:
  void change_own(double *parameters, const double *gradient, double lr) override
  {
    rates_.copy_from({this->moments_.rates(this->steps_, lr)});
    Base::change_ranges(parameters, gradient, rates_.data());
  }

  kernels::Array<kernels::AdamRates> rates_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(const OptimizerConfig &config,
                                     const std::vector<ParameterBlock> &index,
                                     const std::shared_ptr<const Communicator> &comm)
{
  std::size_t total = 0;
  for (const ParameterBlock &block : index) total = std::max(total, block.offset + block.size);
  if (config.precision == "float32")
    return std::make_unique<Adam<float>>(config, index, comm, total);
  return std::make_unique<Adam<double>>(config, index, comm, total);
}

}  // namespace dptrain
