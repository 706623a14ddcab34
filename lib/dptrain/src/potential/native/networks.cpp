#include "potential/native/networks.h"

#include <string>

namespace dptrain {
namespace {

// Takes blocks from the index in file order.
class LayerReader {
 public:
  LayerReader(const std::vector<ParameterBlock> &index, const std::string &first_name) :
      index_(index)
  {
    while (next_ < index.size() && index[next_].name.rfind(first_name, 0) != 0) ++next_;
  }

  Layer layer(const std::string &activation, bool resnet)
  {
    Layer l;
    const auto &w = index_.at(next_++);
    l.in = static_cast<int>(w.shape[0]);
    l.out = static_cast<int>(w.shape[1]);
    l.w = w.offset;
    l.b = index_.at(next_++).offset;
    l.activation = kernels::Activation::from_name(activation);
    if (resnet) l.skip = l.out == l.in ? 1 : (l.out == 2 * l.in ? 2 : 0);
    const std::string &name = next_ < index_.size() ? index_[next_].name : "";
    if (name.size() > 4 && name.compare(name.size() - 4, 4, "/idt") == 0) {
      l.has_idt = true;
      l.idt = index_[next_++].offset;
    }
    return l;
  }

 private:
  const std::vector<ParameterBlock> &index_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<Mlp> embedding_networks(const ModelConfig &config,
                                    const std::vector<ParameterBlock> &index)
{
  LayerReader reader(index, "/model/descriptor/");
  std::vector<Mlp> nets;
  const int count = config.type_one_side ? config.ntypes() : config.ntypes() * config.ntypes();
  for (int n = 0; n < count; ++n) {
    std::vector<Layer> layers;
    for (std::size_t l = 0; l < config.neuron.size(); ++l)
      layers.push_back(reader.layer(config.activation, true));
    nets.emplace_back(std::move(layers));
  }
  return nets;
}

std::vector<Mlp> fitting_networks(const ModelConfig &config,
                                  const std::vector<ParameterBlock> &index)
{
  LayerReader reader(index, "/model/fitting/");
  std::vector<Mlp> nets;
  for (int n = 0; n < config.ntypes(); ++n) {
    std::vector<Layer> layers;
    for (std::size_t l = 0; l < config.fitting_neuron.size(); ++l)
      layers.push_back(reader.layer(config.fitting_activation, true));
    layers.push_back(reader.layer("linear", false));
    nets.emplace_back(std::move(layers));
  }
  return nets;
}

}  // namespace dptrain
