#include "potential/nets/network_tree.h"

#include <algorithm>
#include <fmt/format.h>

#include "input/model_keys.h"

namespace dptrain {

namespace {

using nlohmann::json;

/// The layer whose blocks come next.
Tree layer_tree(TreeWriter &writer, const NetworkShape &shape, std::size_t k,
                const std::string &precision, const double *parameters,
                std::vector<ParameterBlock>::const_iterator &next,
                std::vector<ParameterBlock>::const_iterator end)
{
  const bool hidden = k < shape.hidden.size(), trainable = next->trainable;
  const auto add = [&] {
    const ParameterBlock &block = *next++;
    return writer.add(parameters + block.offset, block.shape, precision == "float32");
  };
  Tree arrays;
  arrays["w"] = add();
  arrays["b"] = add();
  const bool idt = next != end && next->name.ends_with("/idt");
  arrays["idt"] = nullptr;
  if (idt) arrays["idt"] = add();
  return {{"@class", "Layer"},
          {"@version", 2},
          {"bias", true},
          {"use_timestep", idt},
          {"activation_function", hidden ? shape.activation : "none"},
          {"resnet", hidden && shape.skips},
          {"precision", precision},
          {"trainable", trainable},
          {"@variables", arrays}};
}

void check_layer(JsonReader layer, const NetworkShape &shape, std::size_t k)
{
  const bool hidden = k < shape.hidden.size();
  const std::string key = "activation_function";
  const std::string found = layer.has(key) ? read_activation(layer, key) : "none";
  if (hidden ? found != shape.activation : found != "none" && found != "linear")
    layer.fail("activation_function", fmt::format("found \"{}\", expected \"{}\"", found,
                                                  hidden ? shape.activation : "none"));
  const bool can_skip = hidden && shape.skips;
  if (layer.boolean("resnet", false) != can_skip)
    layer.fail("resnet", fmt::format("expected {}", can_skip));
  layer.only("bias", true, "layers without bias");
  const int in = k == 0 ? shape.inputs : shape.hidden[k - 1];
  const bool skip = hidden && skip_of(shape, in, shape.hidden[k]) > 0;
  JsonReader variables = layer.section("@variables");
  if (variables.has("idt") != (skip && shape.resnet_dt))
    variables.fail("idt", variables.has("idt") ? "must be null in this layer"
                                               : "the array is missing; copy the model again");
}

}  // namespace

Tree write_networks(TreeWriter &writer, const CollectionHeader &header, const std::string &name,
                    int number, const NetworkShape &shape,
                    const std::vector<ParameterBlock> &blocks,
                    const std::vector<double> &parameters)
{
  auto next = std::find_if(blocks.begin(), blocks.end(), [&](const ParameterBlock &block) {
    return block.name.starts_with(name + "/");
  });
  Tree networks = Tree::array();
  for (int net = 0; net < number; ++net) {
    Tree tree = header.net, layers = Tree::array();
    for (std::size_t k = 0; k < shape.num_layers(); ++k)
      layers.push_back(
          layer_tree(writer, shape, k, header.precision, parameters.data(), next, blocks.end()));
    tree["layers"] = layers;
    networks.push_back(tree);
  }
  return {{"@class", "NetworkCollection"}, {"@version", 1},
          {"ndim", header.dimensions},     {"ntypes", header.ntypes},
          {"network_type", header.kind},   {"networks", networks}};
}

void check_networks(JsonReader collection, int number, const NetworkShape &shape)
{
  const auto list = [](JsonReader &reader, const char *key, std::size_t size) -> const json & {
    const json *items = reader.find(key);
    if (!items || !items->is_array() || items->size() != size)
      reader.expected(key, fmt::format("a list of {}", size));
    return *items;
  };
  const json &networks = list(collection, "networks", static_cast<std::size_t>(number));
  for (std::size_t net = 0; net < networks.size(); ++net) {
    JsonReader network(networks[net], collection.file(),
                       collection.path(fmt::format("networks/{}", net)));
    const json &layers = list(network, "layers", shape.num_layers());
    for (std::size_t k = 0; k < layers.size(); ++k)
      check_layer(JsonReader(layers[k], network.file(), network.path(fmt::format("layers/{}", k))),
                  shape, k);
  }
}

}  // namespace dptrain
