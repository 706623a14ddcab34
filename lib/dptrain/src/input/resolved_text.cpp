// Settings as JSON with the keys of input.json, all of them written out.

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "dptrain/input/config.h"

namespace dptrain {

namespace {

using nlohmann::ordered_json;

template <class T> void put(ordered_json &section, const char *key, const std::optional<T> &value)
{
  if (value) section[key] = *value;
}

ordered_json fitting_section(const ModelConfig &model)
{
  ordered_json section{{"type", "ener"},
                       {"neuron", model.fitting_neuron},
                       {"activation_function", model.fitting_activation},
                       {"resnet_dt", model.fitting_resnet_dt},
                       {"precision", model.fitting_precision},
                       {"trainable", true},
                       {"atom_ener", ordered_json::array()}};
  const auto &flags = model.fitting_trainable;
  if (std::find(flags.begin(), flags.end(), true) != flags.end())
    section["trainable"] = flags;
  else if (!flags.empty())
    section["trainable"] = false;
  for (const auto &energy : model.atom_ener)
    section["atom_ener"].push_back(energy ? ordered_json(*energy) : ordered_json(nullptr));
  put(section, "seed", model.fitting_seed);
  return section;
}

ordered_json model_section(const InputFile &input)
{
  // the model of a TorchScript archive is what the archive says
  if (!input.model.descriptor)
    return input.model_def_script.empty() ? ordered_json::object()
                                          : ordered_json::parse(input.model_def_script);
  return {{"type", "standard"},
          {"type_map", input.model.type_map},
          {"data_stat_nbatch", input.offline.data_stat_nbatch},
          {"pair_exclude_types", input.model.pair_exclude_types},
          {"atom_exclude_types", input.model.atom_exclude_types},
          {"descriptor", ordered_json::parse(input.model.descriptor->keys(input.model))},
          {"fitting_net", fitting_section(input.model)}};
}

ordered_json schedule_section(const ScheduleConfig &schedule)
{
  ordered_json section{{"type", name_of(schedule.type)},
                       {"start_lr", schedule.start_lr},
                       {"warmup_start_factor", schedule.warmup_start_factor}};
  put(section, "stop_lr", schedule.stop_lr);
  put(section, "stop_lr_ratio", schedule.stop_lr_ratio);
  put(section, "warmup_ratio", schedule.warmup_ratio);
  if (!schedule.warmup_ratio) section["warmup_steps"] = schedule.warmup_steps;
  switch (schedule.type) {
  case ScheduleType::exponential:
    section["decay_steps"] = schedule.decay_steps;
    section["smooth"] = schedule.smooth;
    put(section, "decay_rate", schedule.decay_rate);
    break;
  case ScheduleType::cosine:
    break;
  case ScheduleType::wsd:
    section["decay_phase_ratio"] = schedule.decay_phase_ratio;
    section["decay_type"] = schedule.decay_type;
    break;
  }
  return section;
}

ordered_json loss_section(const LossConfig &loss)
{
  ordered_json section{{"type", "ener"},
                       {"numb_generalized_coord", loss.numb_generalized_coord},
                       {"loss_func", loss.function == LossFunction::mae ? "mae" : "mse"},
                       {"use_huber", loss.function == LossFunction::huber},
                       {"huber_delta", loss.huber_delta},
                       {"f_use_norm", loss.f_use_norm},
                       {"intensive_ener_virial", loss.intensive_ener_virial},
                       {"enable_atom_ener_coeff", loss.enable_atom_ener_coeff},
                       {"use_default_pf", loss.use_default_pf}};
  for (const auto &[term, prefactor] : loss.prefactors) {
    section["start_pref_" + term] = prefactor.start;
    section["limit_pref_" + term] = prefactor.limit;
  }
  put(section, "relative_f", loss.relative_f);
  return section;
}

ordered_json optimizer_section(const OptimizerConfig &given)
{
  const OptimizerConfig optimizer = complete(given);
  ordered_json section{{"type", name_of(optimizer.type)}};
  put(section, "adam_beta1", optimizer.beta1);
  put(section, "adam_beta2", optimizer.beta2);
  put(section, "weight_decay", optimizer.weight_decay);
  // not a key of DeePMD-kit: without need it would refuse the text
  put(section, "precision", given.precision);
  if (optimizer.type != OptimizerType::soap) return section;
  section["epsilon"] = optimizer.epsilon;
  section["precondition_frequency"] = optimizer.precondition_frequency;
  section["max_precondition_dim"] = optimizer.max_precondition_dim;
  return section;
}

/// What a training from labels and one from data sets have in common.
ordered_json training_section(const TrainingConfig &training)
{
  ordered_json section{
      {"numb_steps", training.numb_steps}, {"seed", training.seed},
      {"disp_file", training.disp_file},   {"disp_freq", training.disp_freq},
      {"save_freq", training.save_freq},   {"gradient_max_norm", training.gradient_max_norm},
      {"acc_freq", training.acc_freq},     {"enable_ema", training.ema_decay > 0.0}};
  if (training.ema_decay > 0.0) section["ema_decay"] = training.ema_decay;
  if (!training.rules.only.empty()) section["train_only"] = training.rules.only;
  if (!training.rules.freeze.empty()) section["train_freeze"] = training.rules.freeze;
  for (const auto &[pattern, factor] : training.rules.rates)
    section["train_rates"].push_back(ordered_json::array({pattern, factor}));
  return section;
}

ordered_json batch_size_value(const BatchSize &size)
{
  const std::string number = std::to_string(size.number);
  switch (size.rule) {
  case BatchSize::Rule::fixed:
    return size.number;
  case BatchSize::Rule::per_system:
    return size.list;
  case BatchSize::Rule::at_least:
    return "auto:" + number;
  case BatchSize::Rule::at_most:
    return "max:" + number;
  case BatchSize::Rule::filter:
    return "filter:" + number;
  case BatchSize::Rule::mixed:
    break;
  }
  return "mixed:" + number;
}

ordered_json data_section(const DataConfig &data)
{
  ordered_json section{{"systems", data.systems},
                       {"batch_size", batch_size_value(data.batch_size)},
                       {"auto_prob", data.auto_prob}};
  if (!data.rglob_patterns.empty()) section["rglob_patterns"] = data.rglob_patterns;
  if (!data.sys_probs.empty()) section["sys_probs"] = data.sys_probs;
  // no key of DeePMD-kit since version 3, which has this default only
  if (data.set_prefix != DataConfig().set_prefix) section["set_prefix"] = data.set_prefix;
  return section;
}

void add_offline_keys(ordered_json &section, const OfflineConfig &offline)
{
  if (offline.num_epoch) {
    section.erase("numb_steps");
    section["numb_epoch"] = *offline.num_epoch;
  }
  section["training_data"] = data_section(offline.training_data);
  section["training_data"]["min_pair_dist"] = offline.training_data.min_pair_dist;
  if (offline.validation_data) {
    section["validation_data"] = data_section(*offline.validation_data);
    section["validation_data"]["numb_btch"] = offline.validation_data->numb_btch;
  }
  section["save_ckpt"] = offline.save_ckpt;
  if (!offline.save_dir.empty()) section["save_dir"] = offline.save_dir;
  section["max_ckpt_keep"] = offline.max_ckpt_keep;
  put(section, "ckpt_keep_ratio", offline.ckpt_keep_ratio);
  section["disp_training"] = offline.disp_training;
  section["time_training"] = offline.time_training;
  section["disp_avg"] = offline.disp_avg;
  section["change_bias_after_training"] = offline.change_bias_after_training;
}

ordered_json document_of(const TrainingConfig &training)
{
  return {{"learning_rate", schedule_section(training.schedule)},
          {"loss", loss_section(training.loss)},
          {"optimizer", optimizer_section(training.optimizer)},
          {"training", training_section(training)}};
}

}  // namespace

std::string training_text(const TrainingConfig &training)
{
  ordered_json document = document_of(training);
  document["training"]["training_data"] = {{"batch_size", training.batch_size}};
  return document.dump();
}

std::string resolved_input_text(const InputFile &input)
{
  ordered_json document{{"model", model_section(input)}};
  document.update(document_of(input.training));
  add_offline_keys(document["training"], input.offline);
  return document.dump(2) + "\n";
}

int kept_checkpoints(const OfflineConfig &offline, std::int64_t numb_steps, std::int64_t save_freq)
{
  if (!offline.ckpt_keep_ratio) return offline.max_ckpt_keep;
  const std::int64_t written = (numb_steps + save_freq - 1) / save_freq;
  return static_cast<int>(std::ceil(*offline.ckpt_keep_ratio * static_cast<double>(written)));
}

}  // namespace dptrain
