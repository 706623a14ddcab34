#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dptrain/input/baseline.h"
#include "dptrain/input/descriptor_config.h"
#include "dptrain/input/energy_term_config.h"

namespace dptrain {

/// Where the cutoff of a model comes from.
enum class CutoffSource {
  input,     ///< a number, or the default
  open,      ///< it will follow from the structure; rcut is longest_chosen_cutoff until then
  structure  ///< it has followed from the structure
};

/// Cutoffs that follow from the structure are in this range, Angstrom.
constexpr double shortest_chosen_cutoff = 5.0, longest_chosen_cutoff = 8.0;

/// DeePMD-kit's `model` section with fitting ener. Defaults are those of its input file.
struct ModelConfig {
  std::vector<std::string> type_map;
  double rcut = 6.0;  ///< of the descriptor, Angstrom; set by its keys
  CutoffSource cutoff_source = CutoffSource::input;
  AnyDescriptorConfig descriptor;  ///< none in a TorchScript model
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
  std::vector<Baseline> baseline;  ///< force fields of the engine that are added; empty: none
  std::vector<AnyEnergyTermConfig> terms;  ///< of the energy, beside the net

  /// Beyond this distance (Angstrom) atoms do not act on each other: the largest one of the descriptor and the terms.
  double cutoff() const;
  /// Whether DeePMD-kit has all of it, so that its tools can read such models.
  bool is_in_deepmd() const
  {
    return descriptor && descriptor->is_in_deepmd() && baseline.empty() && terms.empty();
  }
  /// Whether one of the terms is of this kind.
  bool has_term(const std::string &type) const;
  int ntypes() const { return static_cast<int>(type_map.size()); }
};

/// Gives a model whose input leaves the cutoff to the structure this one, with all that follows from it. Throws Error where
/// another value of the input does not go with it.
void choose_cutoff(ModelConfig &model, double rcut);
/// The same as a model has it that is there.
void choose_cutoff(ModelConfig &model, const ModelConfig &known);

enum class ScheduleType { exponential, cosine, wsd };

/// As in input files: exp, cosine, wsd.
std::string name_of(ScheduleType type);

/// DeePMD-kit's `learning_rate`.
struct ScheduleConfig {
  ScheduleType type = ScheduleType::exponential;
  double decay_phase_ratio = 0.1;             ///< wsd: part of the steps in which the rate falls
  std::string decay_type = "inverse_linear";  ///< wsd: inverse_linear, cosine or linear
  double start_lr = 1e-3;
  std::optional<double> stop_lr, stop_lr_ratio;  ///< default: stop_lr 5e-8
  std::int64_t decay_steps = 5000;
  std::optional<double> decay_rate;
  bool smooth = false;
  std::int64_t warmup_steps = 0;
  std::optional<double> warmup_ratio;
  double warmup_start_factor = 0.0;
};

/// Bytes of so many GiB; more than there can be count as any number.
inline std::size_t bytes_of_gib(double gib)
{
  constexpr double most = 1e9;
  return gib < most ? static_cast<std::size_t>(gib * 1073741824.0) : SIZE_MAX;
}

enum class LossFunction { mse, mae, huber };

/// Weight of a term of the loss, from `start` to `limit` as the learning rate falls. The term is on only if both are
/// non-zero.
struct Prefactor {
  double start = 0.0, limit = 0.0;
  bool is_on() const { return start != 0.0 && limit != 0.0; }
  /// DeePMD-kit's law for a fraction of the start learning rate.
  double at(double rate_fraction) const
  {
    return is_on() ? limit + (start - limit) * rate_fraction : 0.0;
  }
};

/// DeePMD-kit's `loss` of type ener.
struct LossConfig {
  /// By term: energy, forces, virial, atomic energies, forces weighted by atom_pref, generalized forces.
  std::map<std::string, Prefactor> prefactors{{"e", {0.02, 1.0}}, {"f", {1000.0, 1.0}}, {"v", {}},
                                              {"ae", {}},         {"pf", {}},           {"gf", {}}};
  /// That of a term; off where there is none.
  Prefactor prefactor(const std::string &term) const
  {
    const auto found = prefactors.find(term);
    return found == prefactors.end() ? Prefactor() : found->second;
  }
  int numb_generalized_coord = 0;
  LossFunction function = LossFunction::mse;
  std::array<double, 3> huber_delta{0.01, 0.01, 0.01};  ///< of energy, force and virial
  bool f_use_norm =
      false;  ///< mae, huber: of the length of an atom's force error, not of its components
  bool intensive_ener_virial = false;   ///< mse: 1/N^2 instead of 1/N
  std::optional<double> relative_f;     ///< eV/Angstrom; force errors divided by |label| + this
  bool enable_atom_ener_coeff = false;  ///< energy = sum of atom_ener_coeff times atomic energy
  bool use_default_pf = false;          ///< atom_pref is 1 where the data have none
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
  int max_precondition_dim = 512;   ///< a longer side of a matrix is preconditioned in blocks
};

/// The same settings with the defaults of their type filled in.
OptimizerConfig complete(OptimizerConfig config);

/// How many frames of a system a batch has: DeePMD-kit's `batch_size`.
struct BatchSize {
  enum class Rule {
    fixed,       ///< `number` frames
    per_system,  ///< `list`, one number for each system
    at_least,    ///< auto:N, as many frames as give N atoms or more
    at_most,     ///< max:N, as many frames as give N atoms or fewer, but one
    filter,      ///< filter:N, like max:N; systems of more than N atoms are left out
    mixed        ///< mixed:N, N frames drawn from all systems
  };
  Rule rule = Rule::at_least;
  std::int64_t number = 32;
  std::vector<int> list;
};

/// DeePMD-kit's `training_data` and `validation_data`.
struct DataConfig {
  std::vector<std::string>
      systems;  ///< folders, HDF5 files or groups, extxyz files; patterns with * and ? too
  std::vector<std::string> rglob_patterns;  ///< names of systems below the folders of `systems`
  std::string set_prefix = "set";
  BatchSize batch_size;
  std::string auto_prob = "prob_sys_size";  ///< or prob_uniform, or prob_sys_size;0:2:0.5;2:5:0.5
  std::vector<double> sys_probs;            ///< of each system; empty: by auto_prob
  double min_pair_dist = 0.0;  ///< Angstrom; frames with a shorter distance are left out
  int numb_btch = 1;           ///< validation: batches of one estimate
};

/// The keys of `training` that concern a training from data sets only.
struct OfflineConfig {
  DataConfig training_data;
  std::optional<DataConfig> validation_data;
  std::optional<double> num_epoch;  ///< length of the training instead of numb_steps
  std::string save_ckpt = "model.ckpt";
  std::string save_dir;   ///< folder of the checkpoints; empty: the present one
  int max_ckpt_keep = 5;  ///< of the numbered checkpoints; 0: all
  std::optional<double>
      ckpt_keep_ratio;        ///< part of the checkpoints that is kept, instead of max_ckpt_keep
  int data_stat_nbatch = 10;  ///< with --skip-neighbor-stat: batches per system of the statistics
  bool disp_training = true, time_training = true;
  bool disp_avg = false;  ///< errors in lcurve.out are means since the row before
  bool change_bias_after_training = false;
  /// Part of the training frames that is held out, to measure error bars, where there are no validation data; without it none is.
  /// No key of DeePMD-kit's.
  std::optional<double> held_out;
};

/// How labeled frames are divided over the ranks, see Distributor.
enum class Distribution { automatic, frames, space };

/// What of a gradient travels between ranks: all, its numbers as bfloat16, or low-rank approximations (PowerSGD).
enum class Compression { none, bfloat16, power_sgd };

/// How a training is spread over ranks. No key of DeePMD-kit's input: keywords of the fix, options of the command.
struct ParallelConfig {
  Distribution distribution = Distribution::automatic;
  Compression compression = Compression::none;
  int compression_rank = 4;  ///< power_sgd: columns of the approximation of a weight matrix
  double frame_memory =
      1.0;  ///< GiB of frames that a rank keeps in memory; others wait on its scratch disk
  int micro_batch = 0;  ///< frames of a batch that are in work at once; 0: all
  std::int64_t check_every =
      100;  ///< steps between two checks that all ranks have the same parameters; 0: never
};

/// Which parameters are trained, and how fast. Patterns are parts of names, such as fitting_net, or with * and ? whole names;
/// names have dots: descriptor.embeddings.networks.0.layers.1.w. Empty: as the model file says.
struct ParameterRules {
  std::vector<std::string> only;    ///< parameters that match none of these stay as they are
  std::vector<std::string> freeze;  ///< those that match one of these too
  std::vector<std::pair<std::string, double>>
      rates;  ///< factors of the learning rate; of several that match, the last
  bool empty() const { return only.empty() && freeze.empty() && rates.empty(); }
};

struct TrainingConfig {
  ParameterRules rules;
  ScheduleConfig schedule;
  LossConfig loss;
  OptimizerConfig optimizer;
  std::int64_t numb_steps = 100000;  ///< length of the schedule
  int batch_size = 1;                ///< frames per step
  std::uint64_t seed = 1;            ///< order of the frames
  std::int64_t buffer_frames = 0;  ///< frames kept, a new one takes the place of the oldest; 0: all
  bool weighted_replay = false;    ///< draw new frames and those with large errors more often
  bool fit_energy_bias = true;     ///< refit the energy bias once, before the first step
  /// Whether the labels are sure to be of the energies of separate atoms that the model has, see EnergyBiasFit.
  bool keeps_atom_energies = false;
  double ema_decay = 0.0;  ///< of the average of the weights per step; 0: no average
  std::string disp_file = "lcurve.out";
  std::int64_t disp_freq = 1000, save_freq = 1000;
  double gradient_max_norm = 0.0;  ///< longer gradients are shortened to this; 0: never
  int acc_freq = 1;                ///< batches whose gradients are added up for one step
  ParallelConfig parallel;
};

/// A DeePMD-kit v2/v3 input.json.
struct InputFile {
  ModelConfig model;
  std::string model_def_script;  ///< the `model` section as JSON text
  TrainingConfig training;
  OfflineConfig offline;
  std::vector<std::string>
      ignored;  ///< paths of keys that are DeePMD-kit's, ask for something, and have no meaning here
  std::optional<double>
      soap_start_lr;  ///< rate of SOAP where the file gives none, if it is a default of the descriptor
  // whether the file says so, for programs whose defaults are not DeePMD-kit's
  bool optimizer_given =
      false;  ///< its type, or a setting, which without a type is one of the default
  bool average_given = false;  ///< of the weights
  bool start_lr_given = false;
  bool length_given = false;    ///< numb_steps or num_epoch, of which DeePMD-kit needs one
  bool length_follows = false;  ///< from the data, where it is not given
  bool virial_given =
      false;  ///< a prefactor of virials, otherwise they come from the defaults of the descriptor
};

/// The text of an input file. Throws Error if it cannot be read or is YAML.
std::string read_input_file(const std::string &path);

/// What an input is read for.
struct InputUse {
  bool model_is_given =
      false;  ///< by a TorchScript archive: the section `model` is not read, and may be missing
  const DescriptorConfig *descriptor =
      nullptr;  ///< of a model that there is: the section may be missing, its defaults hold
  bool in_a_run =
      false;  ///< by a session that does not know how many labels there will be: its defaults
};

/// Reads the text of an input.json, of DeePMD-kit versions 1 to 3. Throws Error "SOURCE:LINE:COLUMN: KEY: ..." that says
/// what was found, what is allowed and what to do.
InputFile read_input_text(const std::string &text, const std::string &source,
                          const InputUse &use = {});

/// The input of a new model of these elements with defaults for everything, for a session.
InputFile default_input(const std::vector<std::string> &type_map);

/// The input in a file, on the calling rank.
InputFile read_input(const std::string &path);

/// The whole input with all defaults written out, as JSON that read_input_text reads back to the same settings (DeePMD-kit
/// calls it out.json, and reads this one too, unless it has SOAP or another key of this program only).
std::string resolved_input_text(const InputFile &input);

/// Numbered checkpoints that a training keeps; 0: all.
int kept_checkpoints(const OfflineConfig &offline, std::int64_t numb_steps, std::int64_t save_freq);

/// The settings of a training as the sections learning_rate, loss, optimizer and training of an input.json, all written
/// out; buffer_frames, fit_energy_bias and keeps_atom_energies have no key there.
std::string training_text(const TrainingConfig &training);
/// Reads them again; the model stays empty. Throws Error that names `source`.
InputFile read_training_text(const std::string &text, const std::string &source);

}  // namespace dptrain
