#include "dptrain/potential/model/model_data.h"

#include "dptrain/parallel/broadcast.h"
#include "input/model_keys.h"

namespace dptrain {

std::int64_t weights_of_an_atom(const ModelConfig &model)
{
  std::int64_t width = model.descriptor->size(), weights = 0;
  for (const int neurons : model.fitting_neuron) {
    weights += width * neurons;
    width = neurons;
  }
  return weights + width;
}

std::int64_t weights_of_an_atom(const ModelData &model)
{
  if (model.kind == ModelKind::native) return weights_of_an_atom(model.config);
  const auto weights = static_cast<std::int64_t>(model.parameters.size());
  return weights * model.max_neighbors;
}

static void fields(ByteArchive &archive, ModelConfig &config)
{
  // a TorchScript model has no keys but these; all others are settings of a section `model`
  std::string keys = config.descriptor ? written_model(config).dump() : "";
  archive("type_map, rcut, keys", config.type_map, config.rcut, keys);
  if (keys.empty()) return;
  const auto document = nlohmann::json::parse(keys);
  JsonReader model(document, "broadcast");
  config = {};
  read_model_keys(model, config);
}

DPTRAIN_FIELDS(ModelData, kind, archive, config, constants, out_bias, bias_atom_e, min_nbor_dist,
               walls, parameters, script, metric, bars, learning, knots, passes_messages,
               max_neighbors, num_fparam, is_compressed, fparam)

void broadcast(const Communicator &comm, ModelData &data)
{
  ByteArchive(comm).send(data);
}

}  // namespace dptrain
