#include "potential/descriptor/nep_type.h"

#include <cmath>
#include <fmt/format.h>

#include "potential/descriptor/nep.h"

namespace dptrain {

std::unique_ptr<DescriptorConfig> NepType::make_config() const
{
  return std::make_unique<NepConfig>();
}

DescriptorConstants NepType::constants(const ModelConfig &model, const Statistics &) const
{
  return {{"scaler", std::vector<double>(model.descriptor->size(), 1.0)}};
}

void NepType::add_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks) const
{
  const NepConfig &config = nep(model);
  const auto add = [&](const char *name, int type, int n_max, int basis_size) {
    ParameterBlock block;
    block.name = fmt::format("/model/descriptor/@variables/{}{}", name, type);
    block.offset = blocks.empty() ? 0 : blocks.back().offset + blocks.back().size;
    block.shape = {n_max + 1, model.ntypes() * (basis_size + 1)};
    block.size = static_cast<std::size_t>(block.shape[0]) * block.shape[1];
    block.trainable = config.trainable;
    blocks.push_back(block);
  };
  for (int type = 0; type < model.ntypes(); ++type) {
    add("c_radial", type, config.n_max_radial, config.basis_size_radial);
    add("c_angular", type, config.n_max_angular, config.basis_size_angular);
  }
}

void NepType::draw(const ModelConfig &model, const ParameterBlock &block, RandomEngine &engine,
                   double *values) const
{
  const double functions = static_cast<double>(block.shape[1]) / model.ntypes();
  for (std::size_t k = 0; k < block.size; ++k)
    values[k] = random_normal(engine) / std::sqrt(functions);
}

std::unique_ptr<Descriptor<double>> NepType::make_double(const ModelData &data) const
{
  return std::make_unique<Nep<double>>(data);
}

std::unique_ptr<Descriptor<float>> NepType::make_single(const ModelData &data) const
{
  return std::make_unique<Nep<float>>(data);
}

}  // namespace dptrain
