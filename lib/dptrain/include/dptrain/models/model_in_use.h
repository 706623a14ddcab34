#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/input/config.h"
#include "dptrain/input/new_charges.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"

namespace dptrain {

/// Which walls a model has.
struct WallSettings {
  enum class Choice {
    of_file,  ///< those of the file, or that a new model of its kind has
    yes,      ///< where the file has none, they begin at the smallest distance that it knows
    no,
    at  ///< they begin at `distance`
  };
  Choice choice = Choice::of_file;
  double distance = 0.0;  ///< Angstrom
};

/// How a model is to be evaluated.
struct ModelSettings {
  int knots = 0;  ///< knots of the embedding tables; 0: chosen by the model's own check
  int chunk = 0;  ///< centers handled at once; 0: the model's default
  Precision precision = Precision::float64;  ///< of MD and of training
  bool native = true;            ///< archives that the native kernels can run become native models
  std::vector<double> fparam{};  ///< frame parameters of a TorchScript model
  WallSettings wall{};
  std::optional<double> total{};  ///< charge of all atoms of a run, e; none: that of the model
};

/// In place of a file: a new model with defaults for everything.
constexpr const char *new_model_name = "new";

/// The one model that a run evaluates and a session trains, shared by both, and what it is made from. After load() there is either
/// a model, or the input of a new one; elements, cutoff and error bars are always those of this model.
class ModelInUse {
 public:
  explicit ModelInUse(const ModelSettings &settings = {}) : settings_(settings) {}

  /// Reads FILE (model, checkpoint or input.json; or makes a new input of the elements, new_model_name) on rank 0, shares it, and
  /// maps the elements of the atom types. Replaces what was there. Collective; throws Error on all ranks.
  void load(const Communicator &comm, const std::string &file,
            const std::vector<std::string> &type_elements);
  /// Makes the model from its data on every rank, with the settings. Collective.
  void set_model(const Communicator &comm, ModelData data);

  const ModelSettings &settings() const { return settings_; }
  const std::string &path() const { return path_; }  ///< file of the model or of its input
  /// One per atom type; "NULL": not in the model.
  const std::vector<std::string> &elements() const { return elements_; }
  /// [ntypes + 1] by atom type: index into type_map(), -1 for NULL.
  const std::vector<int> &model_type() const { return model_type_; }
  bool has_null() const;
  const std::vector<std::string> &type_map() const { return type_map_; }
  double cutoff() const { return cutoff_; }  ///< Angstrom
  /// Whether there is no model yet, and its input leaves the cutoff to the structure.
  bool follows_structure() const;
  /// Whether, of such a model, it has not been chosen: cutoff() is the longest possible one then.
  bool cutoff_is_open() const;
  /// Chooses it by the atoms of a frame, which all ranks have; returns what to tell the user.
  std::string choose_cutoff(const WholeFrame &frame);
  /// The same by a model that was begun with this input: that of a checkpoint.
  void choose_cutoff(double rcut);
  /// What a TorchScript archive or a nep.txt was found to be; empty for other files. For rank 0.
  const std::string &note() const { return note_; }
  /// What is doubtful about it; empty: nothing, or nothing that could be told before a cutoff was chosen. For rank 0.
  const std::string &warning() const { return warning_; }
  /// Of the model, also of a new one.
  const std::vector<Baseline> &baseline() const { return baseline_; }
  /// That of a model that is to be made, or the one that there is. Throws Error for a model with another one. The same on all ranks.
  void set_baseline(const std::vector<Baseline> &baseline);
  /// Of a model that is to be made, with the total of the settings: throws Error where there are others, unless nothing is given. The
  /// same on all ranks.
  void set_charges(NewCharges charges);
  /// Of all atoms, e; none: the model has no charges, or its data tell that of each frame.
  std::optional<double> total_charge() const;
  /// The energy in eV of a separate atom of a type, for a model that is to be made. The same on all ranks.
  void set_atom_energy(int type, double energy);
  bool from_archive() const { return from_archive_; }  ///< the file was a TorchScript archive
  const std::shared_ptr<Model> &model() const { return model_; }  ///< empty: new, not made yet
  /// Whether the model, also one that is to be made, has charges.
  bool has_charges() const;
  const std::optional<InputFile> &input() const { return input_; }  ///< of a new model
  const std::string &input_text() const { return input_text_; }     ///< of its file
  /// Of the model, also of a new one; none in a TorchScript model.
  const AnyDescriptorConfig &descriptor() const { return descriptor_; }
  /// Fingerprint of parameters and energy bias; 0 without a model.
  std::uint64_t hash() const;
  int generation() const { return generation_; }  ///< grows with each load()

  /// Whether the parameters are those of a file, or an optimizer step has been done.
  bool trained() const { return trained_; }
  void set_trained() { trained_ = true; }
  /// Whether the model gives error bars, or distances that will become such, and they are those of its parameters.
  bool has_bars() const { return model_ && bars_; }
  void set_bars_known(bool known) { bars_ = known; }
  /// Whether who trains the model reads them at a step; always, where it has not said when it does.
  bool bars_are_due(std::int64_t step) const { return !bars_due_ || bars_due_(step); }
  void set_bars_due(std::function<bool(std::int64_t)> due) { bars_due_ = std::move(due); }
  /// Whether something beside mode active reads them in this run.
  bool bars_wanted() const { return bars_wanted_; }
  void want_bars() { bars_wanted_ = true; }
  /// Whether they are errors of forces; else distances.
  bool has_calibrated_bars() const { return has_bars() && model_->bars().is_known(); }
  /// Of the ActiveLearning behind the bars of the file; empty: none.
  const State &active_state() const { return active_state_; }
  /// Name of who trains the model; empty: nobody.
  const std::string &owner() const { return owner_; }
  void set_owner(const std::string &name) { owner_ = name; }

 private:
  const ModelSettings settings_;
  std::string path_, note_, warning_, input_text_, owner_;
  std::vector<std::string> elements_, type_map_;
  std::vector<int> model_type_;
  std::vector<Baseline> baseline_;
  double cutoff_ = 0.0;
  bool from_archive_ = false, trained_ = false, bars_ = false, bars_wanted_ = false;
  std::shared_ptr<Model> model_;
  std::optional<InputFile> input_;
  AnyDescriptorConfig descriptor_;
  State active_state_;
  int generation_ = 0;
  std::function<bool(std::int64_t)> bars_due_;
};

}  // namespace dptrain
