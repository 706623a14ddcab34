#include "dptrain/potential/native/deep_pot.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/native/fitting_shape.h"
#include "potential/terms/energy_term_type.h"

namespace dptrain {

const std::string fitting_networks_name = "/model/fitting/nets";

NetworkShape fitting_shape(const ModelConfig &config)
{
  NetworkShape shape;
  shape.inputs = config.descriptor->size();
  shape.hidden = config.fitting_neuron;
  shape.activation = config.fitting_activation;
  shape.resnet_dt = config.fitting_resnet_dt;
  shape.output = true;
  shape.skips = config.descriptor->nets_have_skips();
  return shape;
}

std::vector<ParameterBlock> parameter_index(const ModelConfig &config)
{
  std::vector<ParameterBlock> blocks;
  descriptor_type(config).add_blocks(config, blocks);
  add_term_blocks(config, blocks);
  const NetworkShape shape = fitting_shape(config);
  std::vector<bool> trainable = config.fitting_trainable;
  if (trainable.empty()) trainable.assign(shape.num_layers(), true);
  add_network_blocks(fitting_networks_name, config.ntypes(), shape, trainable, blocks);
  return blocks;
}

}  // namespace dptrain
