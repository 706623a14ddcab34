#include "optimizer/optimizer.h"

#include <string>

#include "dptrain/base/error.h"
#include "optimizer/sharded_optimizer.h"

namespace dptrain {

namespace {

void check_config(const OptimizerConfig &config)
{
  const auto fraction = [](double value) { return value >= 0.0 && value < 1.0; };
  if (!fraction(*config.beta1) || !fraction(*config.beta2))
    throw Error("optimizer: adam_beta1 and adam_beta2 must be at least 0 and below 1, found " +
                std::to_string(*config.beta1) + " and " + std::to_string(*config.beta2));
  if (!(config.epsilon > 0.0) || !(*config.weight_decay >= 0.0))
    throw Error("optimizer: epsilon must be positive and weight_decay not negative, found " +
                std::to_string(config.epsilon) + " and " + std::to_string(*config.weight_decay));
  if (config.precondition_frequency < 1 || config.max_precondition_dim < 1)
    throw Error(
        "optimizer: precondition_frequency and max_precondition_dim must be positive, found " +
        std::to_string(config.precondition_frequency) + " and " +
        std::to_string(config.max_precondition_dim));
  if (config.precision != "float64" && config.precision != "float32")
    throw Error("optimizer: precision must be float64 or float32, found " + *config.precision);
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
