#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dptrain {

/// DeePMD-kit's `model` section for descriptor se_e2_a and fitting ener. Defaults are those of its input file.
struct ModelConfig {
  std::vector<std::string> type_map;
  // descriptor
  double rcut = 6.0, rcut_smth = 0.5;  ///< Angstrom
  std::vector<int> sel;                ///< empty: from statistics, largest count times sel_factor
  double sel_factor = 1.5;
  std::vector<int> neuron{10, 20, 40};
  int axis_neuron = 4;
  std::string activation = "tanh";
  bool resnet_dt = false;
  bool type_one_side = false;
  std::vector<std::array<int, 2>> exclude_types;
  double env_protection = 0.0;
  bool set_davg_zero = false;
  std::string precision =
      "float64";  ///< of the stored weights: float64 or float32; computed in float64
  bool trainable = true;
  std::optional<std::uint64_t> seed;
  // fitting_net
  std::vector<int> fitting_neuron{120, 120, 120};
  std::string fitting_activation = "tanh";
  bool fitting_resnet_dt = true;
  std::string fitting_precision = "float64";
  std::vector<bool> fitting_trainable;  ///< one per layer, output layer last; empty: all
  std::optional<std::uint64_t> fitting_seed;
  std::vector<std::optional<double>>
      atom_ener;  ///< energy of an isolated atom per type, eV; empty: none
  // model
  std::vector<std::array<int, 2>> pair_exclude_types;
  std::vector<int> atom_exclude_types;

  int ntypes() const { return static_cast<int>(type_map.size()); }
};

/// Everything that a model file holds.
struct ModelData {
  ModelConfig config;
  std::vector<double> davg, dstd;       ///< [ntypes][4] by centre type, the same for all slots
  std::vector<double> out_bias;         ///< [ntypes] eV
  std::vector<double> bias_atom_e;      ///< [ntypes] eV
  std::optional<double> min_nbor_dist;  ///< Angstrom
  std::vector<double> parameters;       ///< flat, in the order of parameter_index()
  std::string model_def_script;         ///< JSON of the `model` section, as given by the user
  int knots = 0;  ///< of the embedding table; 0: chosen by accuracy. Not part of a file
};

enum class ScheduleType { exponential, cosine };

/// DeePMD-kit's `learning_rate`.
struct ScheduleConfig {
  ScheduleType type = ScheduleType::exponential;
  double start_lr = 1e-3;
  std::optional<double> stop_lr, stop_lr_ratio;  ///< default: stop_lr 5e-8
  std::int64_t decay_steps = 5000;
  std::optional<double> decay_rate;
  bool smooth = false;
  std::int64_t warmup_steps = 0;
  std::optional<double> warmup_ratio;
  double warmup_start_factor = 0.0;
};

/// DeePMD-kit's `loss` of type ener. A term is active only if its start and limit prefactors are both non-zero.
struct LossConfig {
  double start_pref_e = 0.02, limit_pref_e = 1.0;
  double start_pref_f = 1000.0, limit_pref_f = 1.0;
  double start_pref_v = 0.0, limit_pref_v = 0.0;
};

enum class OptimizerType { adam, adamw, soap };

/// As in input files: Adam, AdamW, SOAP.
std::string name_of(OptimizerType type);

/// DeePMD-kit's `optimizer`, and SOAP (arXiv 2409.11321). What is not given has the default of its type, see complete().
struct OptimizerConfig {
  OptimizerType type = OptimizerType::adam;
  std::optional<double> beta1,
      beta2;  ///< decay of the moments; adam, adamw: 0.9, 0.999; soap: 0.95
  double epsilon = 1e-8;
  std::optional<double>
      weight_decay;  ///< adam: added to the gradient, 0; adamw: decoupled, 1e-3; soap: decoupled, 0
  std::optional<std::string>
      precision;  ///< of moments and bases and of their algebra: float64 (default) or float32
  // soap
  int precondition_frequency = 10;  ///< steps between two refreshes of the eigenvectors
  int max_precondition_dim = 512;   ///< a longer side of a matrix is not preconditioned
};

/// The same settings with the defaults of their type filled in.
OptimizerConfig complete(OptimizerConfig config);

struct TrainingConfig {
  ScheduleConfig schedule;
  LossConfig loss;
  OptimizerConfig optimizer;
  std::int64_t numb_steps = 100000;  ///< length of the schedule
  int batch_size = 1;                ///< frames per step
  std::uint64_t seed = 1;            ///< order of the frames
  std::int64_t buffer_frames = 0;  ///< frames kept, a new one takes the place of the oldest; 0: all
  bool fit_energy_bias = true;     ///< refit the energy bias once, before the first step
  double ema_decay = 0.0;          ///< of the average of the weights per step; 0: no average
  std::string disp_file = "lcurve.out";
  std::int64_t disp_freq = 1000, save_freq = 1000;
};

/// A DeePMD-kit v2/v3 input.json.
struct InputFile {
  ModelConfig model;
  std::string model_def_script;  ///< the `model` section as JSON text
  TrainingConfig training;
  // whether the file says so, for programs whose defaults are not DeePMD-kit's
  bool optimizer_given = false;  ///< its type, or a setting, which without a type is one of Adam
  bool start_lr_given = false;
};

/// Reads input.json on the calling rank. Throws Error that names the file, the key, what was found and what is allowed.
InputFile read_input(const std::string &path);

/// The settings of a training as the sections learning_rate, loss, optimizer and training of an input.json, all written
/// out; buffer_frames and fit_energy_bias have no key there.
std::string training_text(const TrainingConfig &training);
/// Reads them again; the model stays empty. Throws Error that names `source`.
InputFile read_training_text(const std::string &text, const std::string &source);

}  // namespace dptrain
