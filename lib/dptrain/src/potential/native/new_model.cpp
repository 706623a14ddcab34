#include <cmath>
#include <string>

#include "base/random.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/nets/networks.h"
#include "potential/terms/energy_term_type.h"

namespace dptrain {
namespace {

constexpr std::uint64_t default_seed = 1;
// The two halves of a model draw from different streams also where the input gives both the same seed.
constexpr std::uint64_t fitting_stream = 0x9e3779b97f4a7c15ULL;

}  // namespace

StatisticsSettings statistics_settings(const ModelConfig &config)
{
  return descriptor_type(config).statistics(config);
}

void complete(ModelConfig &config, const Statistics &statistics, double margin)
{
  descriptor_type(config).complete(config, statistics, margin);
}

ModelData new_deep_pot(const ModelConfig &config, const Statistics &statistics,
                       const std::string &model_def_script)
{
  ModelData data;
  data.config = config;
  complete(data.config, statistics);
  for (AnyEnergyTermConfig &term : data.config.terms) term->follow_cutoff(data.config.rcut);
  const DescriptorType &type = descriptor_type(config);
  data.descriptor_constants = type.constants(data.config, statistics);
  if (std::isfinite(statistics.min_distance())) data.min_nbor_dist = statistics.min_distance();
  // where no pair has been seen the net knows nothing, and a wall begins at the cutoff
  if (type.has_walls()) data.walls = Walls(config.ntypes(), config.rcut);
  data.out_bias.assign(config.ntypes(), 0.0);
  data.bias_atom_e.assign(config.ntypes(), 0.0);
  for (std::size_t t = 0; t < config.atom_ener.size(); ++t)
    data.bias_atom_e[t] = config.atom_ener[t].value_or(0.0);
  data.model_def_script = model_def_script;

  RandomEngine descriptor(config.descriptor->seed.value_or(default_seed));
  RandomEngine fitting(config.fitting_seed.value_or(default_seed) ^ fitting_stream);
  const auto index = parameter_index(data.config);
  data.parameters.resize(index.back().offset + index.back().size);
  for (const auto &block : index) {
    double *values = data.parameters.data() + block.offset;
    if (block.name.starts_with("/model/descriptor/"))
      type.draw(data.config, block, descriptor, values);
    else if (block.name.starts_with("/model/terms/"))
      draw_term(data.config, block, descriptor, values);
    else
      draw_weights(block, fitting, values);
  }
  return data;
}

}  // namespace dptrain
