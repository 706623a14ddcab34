#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dptrain/input/config.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/uncertainty/calibration.h"

namespace dptrain {

/// How a model is to be evaluated.
struct ModelSettings {
  int knots = 0;  ///< knots of the embedding tables; 0: chosen by the model's own check
  int chunk = 0;  ///< centers handled at once; 0: the model's default
  Precision precision = Precision::float64;  ///< of MD and of training
  bool native = true;          ///< archives that the native kernels can run become native models
  std::vector<double> fparam;  ///< frame parameters of a TorchScript model
};

/// In place of a file: a new model with defaults for everything.
constexpr const char *new_model_name = "new";

/// The one model that a run evaluates and a session trains, shared by both, and what it is made from.
struct ModelSlot {
  ModelSettings settings;
  std::string path;                   ///< file of the model or of its input
  std::vector<std::string> elements;  ///< one per atom type; "NULL": not in the model
  std::vector<int> model_type;  ///< [ntypes + 1] by atom type: index into type_map, -1 for NULL
  std::vector<std::string> type_map;
  std::string note;           ///< what a TorchScript archive was found to be; empty for other files
  double cutoff = 0.0;        ///< Angstrom
  bool from_archive = false;  ///< the file was a TorchScript archive
  std::shared_ptr<Model> model;    ///< empty: new, and not made yet
  std::optional<InputFile> input;  ///< of a new model
  std::string input_text;          ///< of its file
  AnyDescriptorConfig descriptor;  ///< of the model, also of a new one; none in a TorchScript model
  bool trained = false;  ///< the parameters are those of a file, or an optimizer step has been done
  bool uncertainty =
      false;  ///< the model gives uncertainties (asking the model would copy matrices)
  bool uncertainty_wanted = false;   ///< something beside mode active reads them in this run
  Calibration calibration;           ///< what they mean as errors of the forces
  std::vector<double> active_state;  ///< of the ActiveLearning behind the calibration; empty: none
  int generation = 0;                ///< grows with each load()
  std::string owner;                 ///< name of who trains the model; empty: nobody

  /// Reads FILE (model, checkpoint or input.json; or makes a new input of the elements, new_model_name) on rank 0, shares it, and
  /// maps the elements of the atom types. Replaces what was there. Collective; throws Error on all ranks.
  void load(const Communicator &comm, const std::string &file,
            const std::vector<std::string> &type_elements);
  /// Makes the model from its data on every rank, with the settings of the slot. Collective.
  void set_model(const Communicator &comm, ModelData data);
  /// Fingerprint of parameters and energy bias; 0 without a model.
  std::uint64_t hash() const;
  bool has_null() const;
  /// Whether the model gives uncertainties.
  bool has_uncertainty() const { return model && uncertainty; }
};

}  // namespace dptrain
