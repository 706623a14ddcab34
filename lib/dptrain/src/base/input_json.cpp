#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/model_keys.h"
#include "dptrain/config.h"
#include "io/file.h"

namespace dptrain {

using nlohmann::json;

namespace {

/// Throws unless the number is positive and finite.
void check_positive(const JsonReader &reader, const std::string &key, double value)
{
  if (!(value > 0.0 && std::isfinite(value))) reader.expected(key, "a positive number");
}

/// Both names of a part of a model that this version has, or an error that says so.
void check_kind(JsonReader &reader, const std::string &found, const std::vector<std::string> &known,
                const std::string &part)
{
  for (const auto &name : known)
    if (found == name) return;
  reader.fail("type",
              part + " \"" + found + "\" is not in this version; it has \"" + known[0] + "\"");
}

ModelConfig read_model(JsonReader model)
{
  ModelConfig config;
  if (model.has("model_dict") || model.has("shared_dict"))
    model.fail(model.has("model_dict") ? "model_dict" : "shared_dict",
               "multi-task models are not in this version; give one model");
  check_kind(model, model.text("type", "standard"), {"standard"}, "model type");
  read_type_keys(model, config);
  model.accept({"data_stat_nbatch", "data_stat_protect", "data_bias_nsample", "srtab_add_bias",
                "model_branch_alias", "info", "bridging_r_inner", "bridging_r_outer"});
  model.only("bridging_method", "None", "bridging");
  model.only("preset_out_bias", nullptr, "preset_out_bias");
  for (const char *key : {"use_srtab", "smin_alpha", "sw_rmin", "sw_rmax"})
    model.only(key, nullptr, "interpolation with a pair table");
  model.only("type_embedding", nullptr, "type embeddings");
  model.only("modifier", nullptr, "model modifiers");
  model.only("compress", nullptr, "compressed models");
  model.only("spin", nullptr, "spin models");
  model.only("finetune_head", nullptr, "multi-task models");
  model.only("lora", nullptr, "LoRA");

  if (!model.has("descriptor")) model.expected("descriptor", "an object { ... }");
  JsonReader descriptor = model.section("descriptor");
  if (!descriptor.has("type")) descriptor.expected("type", "\"se_e2_a\"");
  check_kind(descriptor, descriptor.text("type", ""), {"se_e2_a", "se_a"}, "descriptor");
  read_descriptor_keys(descriptor, config);
  descriptor.finish();

  if (!model.has("fitting_net")) model.expected("fitting_net", "an object { ... }");
  JsonReader fitting = model.section("fitting_net");
  check_kind(fitting, fitting.text("type", "ener"), {"ener"}, "fitting net");
  read_fitting_keys(fitting, config);
  fitting.only("rcond", nullptr, "rcond: the energy bias is the plain least-squares solution");
  fitting.finish();
  model.finish();
  return config;
}

ScheduleConfig read_schedule(JsonReader reader)
{
  ScheduleConfig schedule;
  const std::string type = reader.text("type", "exp");
  if (type == "cosine")
    schedule.type = ScheduleType::cosine;
  else if (type != "exp")
    reader.fail("type", "learning rate \"" + type +
                            "\" is not in this version; it has \"exp\" and \"cosine\"");
  schedule.start_lr = reader.number("start_lr", schedule.start_lr);
  check_positive(reader, "start_lr", schedule.start_lr);
  schedule.stop_lr = reader.optional_number("stop_lr");
  schedule.stop_lr_ratio = reader.optional_number("stop_lr_ratio");
  if (schedule.stop_lr && schedule.stop_lr_ratio)
    reader.fail("stop_lr_ratio", "given beside stop_lr; keep one of them");
  if (schedule.stop_lr && !(*schedule.stop_lr >= 0.0))
    reader.expected("stop_lr", "a number not below 0");
  if (schedule.stop_lr_ratio && !(*schedule.stop_lr_ratio >= 0.0))
    reader.expected("stop_lr_ratio", "a number not below 0");
  if (schedule.type == ScheduleType::exponential) {
    schedule.decay_steps = reader.integer("decay_steps", schedule.decay_steps, 1);
    schedule.decay_rate = reader.optional_number("decay_rate");
    if (schedule.decay_rate && !(*schedule.decay_rate > 0.0 && *schedule.decay_rate <= 1.0))
      reader.expected("decay_rate", "a number above 0 and not above 1");
    schedule.smooth = reader.boolean("smooth", schedule.smooth);
  } else {
    for (const char *key : {"decay_steps", "decay_rate", "smooth"})
      if (reader.has(key)) reader.fail(key, "belongs to learning rate type \"exp\"; remove it");
  }
  schedule.warmup_steps = reader.integer("warmup_steps", 0, 0);
  schedule.warmup_ratio = reader.optional_number("warmup_ratio");
  if (schedule.warmup_steps != 0 && schedule.warmup_ratio)
    reader.fail("warmup_ratio", "given beside warmup_steps; keep one of them");
  if (schedule.warmup_ratio && !(*schedule.warmup_ratio >= 0.0 && *schedule.warmup_ratio < 1.0))
    reader.expected("warmup_ratio", "a number from 0 to below 1");
  schedule.warmup_start_factor = reader.number("warmup_start_factor", 0.0);
  if (!(schedule.warmup_start_factor >= 0.0))
    reader.expected("warmup_start_factor", "a number not below 0");
  reader.accept({"scale_by_worker"});  // DeePMD-kit's PyTorch backend does not scale either
  reader.finish();
  return schedule;
}

LossConfig read_loss(JsonReader reader)
{
  LossConfig loss;
  check_kind(reader, reader.text("type", "ener"), {"ener"}, "loss");
  const auto prefactor = [&](const char *key, double &value) {
    value = reader.number(key, value);
    if (!(value >= 0.0)) reader.expected(key, "a number not below 0");
  };
  prefactor("start_pref_e", loss.start_pref_e);
  prefactor("limit_pref_e", loss.limit_pref_e);
  prefactor("start_pref_f", loss.start_pref_f);
  prefactor("limit_pref_f", loss.limit_pref_f);
  prefactor("start_pref_v", loss.start_pref_v);
  prefactor("limit_pref_v", loss.limit_pref_v);
  const std::vector<std::pair<std::string, std::string>> terms{{"ae", "atomic energy"},
                                                               {"pf", "weighted force"},
                                                               {"gf", "generalized force"},
                                                               {"h", "Hessian"}};
  for (const auto &[term, name] : terms) {
    // as in DeePMD-kit, a term counts only if both prefactors do
    const double start = reader.number("start_pref_" + term, 0.0);
    const double limit = reader.number("limit_pref_" + term, 0.0);
    if (start != 0.0 && limit != 0.0)
      reader.fail("start_pref_" + term, "this version does not have the " + name +
                                            " term of the loss; set the prefactor to 0");
  }
  reader.accept({"use_default_pf", "huber_delta"});
  reader.only("numb_generalized_coord", 0, "the generalized force term of the loss");
  reader.only("relative_f", nullptr, "relative force errors in the loss");
  reader.only("enable_atom_ener_coeff", false, "atom_ener_coeff");
  reader.only("use_huber", false, "the Huber loss");
  reader.only("loss_func", "mse", "this loss function");
  reader.only("f_use_norm", false, "the norm of the force error in the loss");
  reader.only("intensive_ener_virial", false, "the intensive energy and virial loss");
  reader.finish();
  return loss;
}

/// Keys that only SOAP has.
void read_soap(JsonReader &reader, OptimizerConfig &optimizer)
{
  optimizer.epsilon = reader.number("epsilon", optimizer.epsilon);
  check_positive(reader, "epsilon", optimizer.epsilon);
  const auto integer = [&](const char *key, int &value) {
    value = static_cast<int>(reader.integer(key, value, 1, INT32_MAX));
  };
  integer("precondition_frequency", optimizer.precondition_frequency);
  integer("max_precondition_dim", optimizer.max_precondition_dim);
}

constexpr std::pair<const char *, OptimizerType> optimizers[] = {
    {"Adam", OptimizerType::adam}, {"AdamW", OptimizerType::adamw}, {"SOAP", OptimizerType::soap}};

/// Keys of an optimizer; the section `optimizer`, or `training` in the style of DeePMD-kit 3.1.
void read_optimizer(JsonReader &reader, const std::string &type_key, InputFile &input)
{
  OptimizerConfig &optimizer = input.training.optimizer;
  for (const char *key : {type_key.c_str(), "adam_beta1", "adam_beta2", "weight_decay"})
    input.optimizer_given = input.optimizer_given || reader.has(key);
  if (reader.has(type_key)) {
    const std::string type = reader.text(type_key, "");
    const auto *found = std::find_if(std::begin(optimizers), std::end(optimizers),
                                     [&](const auto &entry) { return type == entry.first; });
    if (found == std::end(optimizers))
      reader.fail(type_key, "optimizer \"" + type +
                                "\" is not in this version; it has \"Adam\", \"AdamW\" and "
                                "\"SOAP\"");
    optimizer.type = found->second;
  }
  const auto momentum = [&](const char *key, std::optional<double> &value) {
    if (reader.has(key)) value = reader.optional_number(key);
    if (value && !(*value >= 0.0 && *value < 1.0))
      reader.expected(key, "a number from 0 to below 1");
  };
  momentum("adam_beta1", optimizer.beta1);
  momentum("adam_beta2", optimizer.beta2);
  if (reader.has("weight_decay")) optimizer.weight_decay = reader.optional_number("weight_decay");
  if (optimizer.weight_decay && !(*optimizer.weight_decay >= 0.0))
    reader.expected("weight_decay", "a number not below 0");
  if (reader.has("precision")) {
    optimizer.precision = reader.text("precision", "");
    if (optimizer.precision != "float64" && optimizer.precision != "float32")
      reader.expected("precision", "\"float64\" or \"float32\"");
  }
  if (optimizer.type == OptimizerType::soap) return read_soap(reader, optimizer);
  for (const char *key : {"epsilon", "precondition_frequency", "max_precondition_dim"})
    if (reader.has(key))
      reader.fail(key, "belongs to optimizer \"SOAP\"; remove it, or choose that one");
}

/// The average of the weights; DeePMD-kit's decay counts only with enable_ema.
void read_average(JsonReader &reader, TrainingConfig &training)
{
  constexpr double default_decay = 0.999;
  const bool enabled = reader.boolean("enable_ema", false);
  const double decay = reader.number("ema_decay", default_decay);
  if (!(decay >= 0.0 && decay < 1.0)) reader.expected("ema_decay", "a number from 0 to below 1");
  training.ema_decay = enabled ? decay : 0.0;
}

/// Where the data are: allowed, and used by other parts of the program. A fixed batch size is kept.
void read_data(JsonReader data, TrainingConfig &training)
{
  const json *size = data.find("batch_size");
  if (size && size->is_number())
    training.batch_size = static_cast<int>(data.integer("batch_size", 1, 1, INT32_MAX));
  data.accept({"systems", "rglob_patterns", "set_prefix", "auto_prob", "auto_prob_style",
               "sys_probs", "sys_prob", "sys_weights", "min_pair_dist", "numb_btch", "numb_test"});
  data.finish();
}

/// Keys of `training` that change nothing here, or that this version has in one setting only.
void check_other_training_keys(JsonReader &reader)
{
  reader.accept({"save_ckpt", "save_dir", "max_ckpt_keep", "ckpt_keep_ratio", "ema_ckpt_keep",
                 "disp_training", "time_training", "disp_avg", "profiling_file",
                 "tensorboard_log_dir", "tensorboard_freq", "numb_test", "stat_file",
                 "stat_file_mode", "neighbor_graph_method", "validation_data"});
  const auto off = [&](const char *key, const char *feature) { reader.only(key, false, feature); };
  off("change_bias_after_training", "change_bias_after_training");
  off("profiling", "DeePMD-kit's profiling");
  off("enable_profiler", "DeePMD-kit's profiling");
  off("tensorboard", "TensorBoard output");
  off("enable_compile", "enable_compile");
  reader.only("gradient_max_norm", nullptr, "clipping of the gradient");
  reader.only("acc_freq", 1, "gradient accumulation");
  reader.only("zero_stage", 0, "zero_stage");
  reader.only("mixed_precision", nullptr, "mixed_precision");
  for (const char *key : {"model_prob", "data_dict", "num_epoch_dict"})
    reader.only(key, json::object(), "multi-task training");
  for (const char *key : {"numb_epoch", "num_epochs", "num_epoch", "numb_epochs"})
    reader.only(key, nullptr, "training lengths in epochs; give numb_steps");
  for (const char *key :
       {"kf_blocksize", "kf_start_pref_e", "kf_limit_pref_e", "kf_start_pref_f", "kf_limit_pref_f"})
    reader.only(key, nullptr, "the LKF optimizer");
  for (const char *key :
       {"momentum", "muon_momentum", "lr_adjust", "lr_adjust_coeff", "muon_2d_only", "min_2d_dim"})
    reader.only(key, nullptr, "the Muon optimizers");
}

void read_training(JsonReader &reader, InputFile &input)
{
  TrainingConfig &training = input.training;
  const std::string steps =
      reader.either("numb_steps", {"stop_batch", "num_steps", "num_step", "numb_step"});
  training.numb_steps = reader.integer(steps, training.numb_steps, 1);
  training.seed = static_cast<std::uint64_t>(reader.integer("seed", 1, 0));
  training.disp_file = reader.text("disp_file", training.disp_file);
  if (training.disp_file.empty()) reader.expected("disp_file", "a file name");
  training.disp_freq = reader.integer("disp_freq", training.disp_freq, 1);
  training.save_freq = reader.integer("save_freq", training.save_freq, 1);
  if (reader.has("training_data")) read_data(reader.section("training_data"), training);
  // DeePMD-kit 1.x: the data keys stand in `training` itself
  const std::vector<std::string> old_style{"systems",   "set_prefix",     "batch_size",
                                           "sys_prob",  "sys_probs",      "sys_weights",
                                           "auto_prob", "auto_prob_style"};
  for (const auto &key : old_style)
    if (reader.has(key) && reader.has("training_data"))
      reader.fail(key, "given beside training_data; move it there");
  const json *size = reader.find("batch_size");
  if (size && size->is_number())
    training.batch_size = static_cast<int>(reader.integer("batch_size", 1, 1, INT32_MAX));
  read_optimizer(reader, "opt_type", input);
  read_average(reader, training);
  check_other_training_keys(reader);
}

/// All sections but the model.
void read_training_sections(JsonReader &root, const std::string &source, InputFile &input)
{
  TrainingConfig &training = input.training;
  JsonReader schedule_section = root.section("learning_rate");
  input.start_lr_given = schedule_section.has("start_lr");
  training.schedule = read_schedule(std::move(schedule_section));
  training.loss = read_loss(root.section("loss"));
  JsonReader optimizer = root.section("optimizer");
  read_optimizer(optimizer, "type", input);
  optimizer.finish();
  JsonReader section = root.section("training");
  read_training(section, input);
  section.finish();
  if (training.schedule.warmup_steps >= training.numb_steps)
    throw Error(source +
                ": learning_rate/warmup_steps: must be smaller than training/numb_steps (" +
                std::to_string(training.numb_steps) + ")");
}

/// DeePMD-kit 3.1 had the warm-up of the learning rate in `training`: moves it.
void move_warmup(json &document, const std::string &file)
{
  const auto training = document.find("training");
  if (training == document.end() || !training->is_object()) return;
  for (const char *key : {"warmup_steps", "warmup_ratio", "warmup_start_factor"}) {
    if (!training->contains(key)) continue;
    json &schedule = document["learning_rate"];
    if (schedule.is_null()) schedule = json::object();
    if (schedule.is_object() && schedule.contains(key))
      throw Error(file + ": training/" + key + ": given in learning_rate too; keep it there only");
    if (schedule.is_object()) schedule[key] = (*training)[key];
    training->erase(key);
  }
}

}  // namespace

InputFile read_input(const std::string &path)
{
  json document = parse_json(read_file(path), path);
  if (document.is_object()) move_warmup(document, path);
  JsonReader root(document, path);
  if (!root.has("model")) root.expected("model", "an object { ... }");
  InputFile input;
  input.model = read_model(root.section("model"));
  input.model_def_script = without_comments(document["model"]).dump();
  read_training_sections(root, path, input);
  root.accept({"validating"});
  root.only("nvnmd", nullptr, "NVNMD");
  root.finish();
  return input;
}

std::string name_of(OptimizerType type)
{
  return std::find_if(std::begin(optimizers), std::end(optimizers),
                      [=](const auto &entry) { return entry.second == type; })
      ->first;
}

InputFile read_training_text(const std::string &text, const std::string &source)
{
  json document = parse_json(text, source);
  JsonReader root(document, source);
  InputFile input;
  read_training_sections(root, source, input);
  root.finish();
  return input;
}

}  // namespace dptrain
