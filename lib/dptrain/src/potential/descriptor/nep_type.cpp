#include "potential/descriptor/nep_type.h"

#include <algorithm>
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

// Numbers that are the same at all atoms of a crystal, or zero at all by symmetry, are not in its melt: deviations count as a part at
// least of what such numbers are in general, by the largest square of coefficients (bench/results/nep.md).
std::vector<double> NepType::scaler(const ModelConfig &model, const std::vector<double> &means,
                                    const std::vector<double> &deviations) const
{
  constexpr double least = 0.2;
  const NepConfig &config = nep(model);
  const int radial = config.n_max_radial + 1, angular = config.n_max_angular + 1;
  const auto scale = [](double deviation, double usual) {
    const double size = std::max(deviation, least * std::abs(usual));
    return size > 0.0 ? 1.0 / size : 1.0;
  };
  std::vector<double> factors;
  double largest = 0.0, square = 0.0;
  for (int n = 0; n < radial; ++n) largest = std::max(largest, std::abs(means[n]));
  for (int n = 0; n < config.l_max * angular; ++n) square = std::max(square, means[radial + n]);
  for (int n = 0; n < radial; ++n) factors.push_back(scale(deviations[n], largest));
  for (int block = 0; block < config.blocks(); ++block)
    for (int n = 0; n < angular; ++n) {
      const int k =
          block - config.l_max;  // products: 222, where it is there 1111, and others of three
      const bool is_quartic = k == static_cast<int>(config.has_222) && config.has_1111;
      const double power = k < 0 ? 1.0 : is_quartic ? 2.0 : 1.5;
      factors.push_back(scale(deviations[factors.size()], std::pow(square, power)));
    }
  return factors;
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
