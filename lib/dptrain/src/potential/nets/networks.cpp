#include "potential/nets/networks.h"

#include <cmath>
#include <fmt/format.h>
#include <map>

namespace dptrain {
namespace {

std::string layer_name(const std::string &name, int net, std::size_t layer)
{
  return fmt::format("{}/networks/{}/layers/{}/@variables/", name, net, layer);
}

void add_block(const std::string &name, std::vector<std::int64_t> shape, bool trainable,
               std::vector<ParameterBlock> &blocks)
{
  ParameterBlock block;
  block.name = name;
  block.size = 1;
  for (const auto extent : shape) block.size *= static_cast<std::size_t>(extent);
  block.shape = std::move(shape);
  block.offset = blocks.empty() ? 0 : blocks.back().offset + blocks.back().size;
  block.trainable = trainable;
  blocks.push_back(std::move(block));
}

// work(layer, in, out, whether it is hidden) for the layers of a net.
template <class Work> void for_layers(const NetworkShape &shape, const Work &work)
{
  int in = shape.inputs;
  for (std::size_t k = 0; k < shape.hidden.size(); ++k) {
    work(k, in, shape.hidden[k], true);
    in = shape.hidden[k];
  }
  if (shape.output) work(shape.hidden.size(), in, 1, false);
}

}  // namespace

int skip_of(const NetworkShape &shape, int in, int out)
{
  if (!shape.skips) return 0;
  return out == in ? 1 : (out == 2 * in ? 2 : 0);
}

void add_network_blocks(const std::string &name, int number, const NetworkShape &shape,
                        const std::vector<bool> &trainable, std::vector<ParameterBlock> &blocks)
{
  for (int net = 0; net < number; ++net)
    for_layers(shape, [&](std::size_t k, int in, int out, bool hidden) {
      const std::string layer = layer_name(name, net, k);
      add_block(layer + "w", {in, out}, trainable.at(k), blocks);
      add_block(layer + "b", {out}, trainable.at(k), blocks);
      if (hidden && shape.resnet_dt && skip_of(shape, in, out) > 0)
        add_block(layer + "idt", {out}, trainable.at(k), blocks);
    });
}

std::vector<Mlp> networks(const std::string &name, int number, const NetworkShape &shape,
                          const std::vector<ParameterBlock> &blocks)
{
  std::map<std::string, std::size_t> offsets;
  for (const ParameterBlock &block : blocks) offsets[block.name] = block.offset;
  std::vector<Mlp> nets;
  for (int net = 0; net < number; ++net) {
    std::vector<Layer> layers;
    for_layers(shape, [&](std::size_t k, int in, int out, bool hidden) {
      const std::string place = layer_name(name, net, k);
      Layer layer;
      layer.in = in;
      layer.out = out;
      layer.activation = kernels::Activation::from_name(hidden ? shape.activation : "linear");
      layer.skip = hidden ? skip_of(shape, in, out) : 0;
      layer.w = offsets.at(place + "w");
      layer.b = offsets.at(place + "b");
      layer.has_idt = layer.skip > 0 && shape.resnet_dt;
      if (layer.has_idt) layer.idt = offsets.at(place + "idt");
      layers.push_back(layer);
    });
    nets.emplace_back(std::move(layers));
  }
  return nets;
}

void draw_weights(const ParameterBlock &block, RandomEngine &engine, double *values)
{
  double mean = 0.0, deviation = 1.0;
  if (block.name.ends_with("/w"))
    deviation = 1.0 / std::sqrt(static_cast<double>(block.shape[0] + block.shape[1]));
  if (block.name.ends_with("/idt")) {
    mean = 0.1;
    deviation = 0.001;
  }
  for (std::size_t k = 0; k < block.size; ++k) values[k] = mean + deviation * random_normal(engine);
}

}  // namespace dptrain
