#include "dptrain/potential/model/model_data.h"

#include <numeric>

#include "parallel/byte_archive.h"

namespace dptrain {

std::int64_t weights_of_an_atom(const ModelConfig &model)
{
  std::int64_t width = std::int64_t(model.neuron.back()) * model.axis_neuron, weights = 0;
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
  return weights * std::accumulate(model.config.sel.begin(), model.config.sel.end(), 0);
}

void visit_fields(ByteArchive &archive, ModelConfig &config)
{
  auto &[type_map, rcut, rcut_smth, sel, sel_factor, neuron, axis_neuron, activation, resnet_dt,
         type_one_side, exclude_types, env_protection, set_davg_zero, precision, trainable, seed,
         fitting_neuron, fitting_activation, fitting_resnet_dt, fitting_precision,
         fitting_trainable, fitting_seed, atom_ener, pair_exclude_types, atom_exclude_types] =
      config;
  archive.fields(type_map, rcut, rcut_smth, sel, sel_factor, neuron, axis_neuron, activation,
                 resnet_dt, type_one_side, exclude_types, env_protection, set_davg_zero, precision,
                 trainable, seed, fitting_neuron, fitting_activation, fitting_resnet_dt,
                 fitting_precision, fitting_trainable, fitting_seed, atom_ener, pair_exclude_types,
                 atom_exclude_types);
}

void visit_fields(ByteArchive &bytes, ModelData &data)
{
  auto &[kind, archive, config, davg, dstd, out_bias, bias_atom_e, min_nbor_dist, parameters,
         script, whitening, calibration, knots, passes_messages, num_fparam, is_compressed,
         fparam] = data;
  bytes.fields(kind, archive, config, davg, dstd, out_bias, bias_atom_e, min_nbor_dist, parameters,
               script, whitening, calibration, knots, passes_messages, num_fparam, is_compressed,
               fparam);
}

void broadcast(const Communicator &comm, ModelData &data)
{
  ByteArchive(comm).send(data);
}

}  // namespace dptrain
