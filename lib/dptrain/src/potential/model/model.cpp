#include "dptrain/potential/model/model.h"

#include <utility>

#include "base/advice.h"
#include "base/process_memory.h"
#include "base/torch_memory.h"

namespace dptrain {

Model::Model(ModelData &&data, std::vector<ParameterBlock> blocks, std::vector<char> has_energy) :
    data_(std::move(data)),
    has_energy_(std::move(has_energy)),
    parameters_(std::move(blocks), std::exchange(data_.parameters, {}))
{
}

void Model::add_last_hidden_layer(int num_features)
{
  last_hidden_layer_.emplace(type_map().size(), num_features);
  if (!data_.whitening.empty())
    last_hidden_layer_->set_whitening(std::exchange(data_.whitening, {}));
}

ModelData Model::data() const
{
  ModelData data = data_;
  data.parameters = parameters_.values();
  if (last_hidden_layer_) data.whitening = last_hidden_layer_->whitening();
  return data;
}

void Model::gradient(Tape &tape, const GradientSeed *seeds, double *gradient)
{
  if (tape.version() != parameters_.version())
    throw internal_error(
        "Pass B needs the model and the parameters of pass A: they are others now");
  pass_b(tape, seeds, gradient);
}

void Model::give_memory_back(const std::string &cause)
{
  release_workspace();
  release_torch_caches();
  return_free_memory();
  ++shortages_.number;
  shortages_.latest = cause;
}

}  // namespace dptrain
