#include "dptrain/potential/native/deep_pot.h"

namespace dptrain {

namespace {

/// Appends the blocks of one layer: w, b and, where the layer has a skip connection and
/// `resnet_dt` is set, idt.
void add_layer(std::vector<ParameterBlock> &blocks, const std::string &layer, int in, int out,
               bool resnet_dt, bool trainable)
{
  const auto add = [&](const char *name, std::vector<std::int64_t> shape) {
    ParameterBlock block;
    block.name = layer + "/@variables/" + name;
    block.size = 1;
    for (const auto extent : shape) block.size *= static_cast<std::size_t>(extent);
    block.shape = std::move(shape);
    block.offset = blocks.empty() ? 0 : blocks.back().offset + blocks.back().size;
    block.trainable = trainable;
    blocks.push_back(std::move(block));
  };
  add("w", {in, out});
  add("b", {out});
  if (resnet_dt && (out == in || out == 2 * in)) add("idt", {out});
}

}  // namespace

std::vector<ParameterBlock> parameter_index(const ModelConfig &config)
{
  std::vector<ParameterBlock> blocks;
  const int ntypes = config.ntypes();
  // file order of the networks: center + neighbor * ntypes, or neighbor alone
  const int num_embeddings = config.type_one_side ? ntypes : ntypes * ntypes;
  for (int net = 0; net < num_embeddings; ++net) {
    const std::string layers =
        "/model/descriptor/embeddings/networks/" + std::to_string(net) + "/layers/";
    int in = 1;
    for (std::size_t k = 0; k < config.neuron.size(); ++k) {
      add_layer(blocks, layers + std::to_string(k), in, config.neuron[k], config.resnet_dt,
                config.trainable);
      in = config.neuron[k];
    }
  }
  const std::size_t num_hidden = config.fitting_neuron.size();
  const auto trainable = [&](std::size_t layer) {
    return config.fitting_trainable.empty() || config.fitting_trainable.at(layer);
  };
  for (int net = 0; net < ntypes; ++net) {
    const std::string layers = "/model/fitting/nets/networks/" + std::to_string(net) + "/layers/";
    int in = config.neuron.back() * config.axis_neuron;
    for (std::size_t k = 0; k < num_hidden; ++k) {
      add_layer(blocks, layers + std::to_string(k), in, config.fitting_neuron[k],
                config.fitting_resnet_dt, trainable(k));
      in = config.fitting_neuron[k];
    }
    add_layer(blocks, layers + std::to_string(num_hidden), in, 1, false, trainable(num_hidden));
  }
  return blocks;
}

}  // namespace dptrain
