#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/atom_features.h"
#include "dptrain/potential/model/error_bars.h"
#include "dptrain/potential/model/walls.h"

namespace dptrain {

/// What runs a model.
enum class ModelKind {
  native,       ///< the kernels of this library: a descriptor with fitting ener
  torchscript,  ///< LibTorch, from the archive
};

/// Numbers of a descriptor that come from the statistics of its data and are not trained, by name.
using DescriptorConstants = std::map<std::string, std::vector<double>>;

/// Everything that a model file holds.
struct ModelData {
  ModelKind kind = ModelKind::native;
  /// Bytes of the TorchScript archive (.pth) that the model runs or was converted from; empty: there is none. What the
  /// fields below hold is newer than what the archive holds.
  std::string archive;
  ModelConfig config;
  DescriptorConstants descriptor_constants;
  std::vector<double> out_bias;         ///< [ntypes] eV
  std::vector<double> bias_atom_e;      ///< [ntypes] eV
  std::optional<double> min_nbor_dist;  ///< Angstrom
  Walls walls;                          ///< empty: there are none
  std::vector<double> parameters;       ///< flat, in the order of ParameterSet::blocks()
  std::string model_def_script;         ///< JSON of the `model` section, as given by the user
  FeatureMetric metric;                 ///< of the AtomFeatures; empty: no error bars
  ErrorBars bars;                       ///< what its distances mean
  State learning;  ///< fields of the ActiveLearning that it comes from; empty: of none
  int knots = 0;   ///< of the table of radial functions; 0: chosen by accuracy. Not part of a file
  bool passes_messages =
      false;              ///< of a TorchScript model: see Model::is_local. Found in the archive
  int max_neighbors = 0;  ///< of an atom of a TorchScript model. Found in the archive
  int num_fparam = 0;     ///< frame parameters of a TorchScript model. Found in the archive
  bool is_compressed =
      false;  ///< comes from an archive with tables in place of nets. Found in the archive
  std::vector<double>
      fparam;  ///< of all frames, where a TorchScript model needs it. Not part of a file
};

/// Weights that the energy of one atom goes through: those of the fitting net, or, of a TorchScript model, all, each as
/// often as there are neighbors.
std::int64_t weights_of_an_atom(const ModelConfig &model);
std::int64_t weights_of_an_atom(const ModelData &model);

/// What distinguishes two models so that the weights of one have no meaning in the other, as "NAME is A there and B
/// here; ..."; empty if nothing does. What `here` leaves to statistics fits anything.
std::string model_differences(const ModelConfig &there, const ModelConfig &here);
/// The same for models of either kind.
std::string model_differences(const ModelData &there, const ModelData &here);

/// Copies the data of rank 0 to all ranks. Collective.
void broadcast(const Communicator &comm, ModelData &data);

}  // namespace dptrain
