#include "optimizer/optimizer.h"

#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "optimizer/sharded_optimizer.h"

namespace dptrain {

namespace {

void check_config(const OptimizerConfig &config)
{
  const auto fraction = [](double value) { return value >= 0.0 && value < 1.0; };
  if (!fraction(*config.beta1) || !fraction(*config.beta2))
    throw Error(fmt::format(
        "optimizer: adam_beta1 and adam_beta2 must be at least 0 and below 1, found {} and {}",
        *config.beta1, *config.beta2));
  if (!(config.epsilon > 0.0) || !(*config.weight_decay >= 0.0))
    throw Error(fmt::format(
        "optimizer: epsilon must be positive and weight_decay not negative, found {} and {}",
        config.epsilon, *config.weight_decay));
  if (config.precondition_frequency < 1 || config.max_precondition_dim < 1)
    throw Error(fmt::format("optimizer: precondition_frequency and max_precondition_dim must be "
                            "positive, found {} and {}",
                            config.precondition_frequency, config.max_precondition_dim));
  if (config.precision != "float64" && config.precision != "float32")
    throw Error(fmt::format("optimizer: precision must be float64 or float32, found {}",
                            *config.precision));
}

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig &config,
                                          const std::vector<ParameterBlock> &index,
                                          std::shared_ptr<const Communicator> comm)
{
  const OptimizerConfig all = complete(config);
  check_config(all);
  return all.type == OptimizerType::soap ? make_soap(all, index, comm)
                                         : make_adam(all, index, comm);
}

}  // namespace dptrain
