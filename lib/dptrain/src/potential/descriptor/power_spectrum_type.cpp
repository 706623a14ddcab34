#include "potential/descriptor/power_spectrum_type.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "potential/descriptor/power_spectrum.h"

namespace dptrain {

std::unique_ptr<DescriptorConfig> PowerSpectrumType::make_config() const
{
  return std::make_unique<PowerSpectrumConfig>();
}

// The expansion coefficients of the neighbors at random places have about the size of one term times the root of their number.
DescriptorConstants PowerSpectrumType::constants(const ModelConfig &, const Statistics &found) const
{
  return {{"scale", {2.0 / std::sqrt(std::max(1.0, found.mean_neighbors()))}}};
}

void PowerSpectrumType::add_blocks(const ModelConfig &model,
                                   std::vector<ParameterBlock> &blocks) const
{
  const PowerSpectrumConfig &config = power_spectrum(model);
  for (int type = 0; type < model.ntypes(); ++type) {
    ParameterBlock block;
    block.name = fmt::format("/model/descriptor/@variables/c{}", type);
    block.offset = blocks.empty() ? 0 : blocks.back().offset + blocks.back().size;
    block.shape = {config.n_max, model.ntypes() * config.n_basis};
    block.size = static_cast<std::size_t>(block.shape[0]) * block.shape[1];
    block.trainable = config.trainable;
    blocks.push_back(block);
  }
}

// As smooth as the basis: fine functions begin small.
void PowerSpectrumType::draw(const ModelConfig &model, const ParameterBlock &block,
                             RandomEngine &engine, double *values) const
{
  const std::size_t functions = power_spectrum(model).n_basis;
  double squares = 0.0;
  for (std::size_t k = 0; k < functions; ++k)
    squares += std::pow(kernels::basis_amplitude(k, model.rcut), 2);
  for (std::size_t k = 0; k < block.size; ++k)
    values[k] = kernels::basis_amplitude(k % functions, model.rcut) / std::sqrt(squares) *
                random_normal(engine);
}

std::unique_ptr<Descriptor<double>> PowerSpectrumType::make_double(const ModelData &data) const
{
  return std::make_unique<PowerSpectrum<double>>(data);
}

std::unique_ptr<Descriptor<float>> PowerSpectrumType::make_single(const ModelData &data) const
{
  return std::make_unique<PowerSpectrum<float>>(data);
}

}  // namespace dptrain
