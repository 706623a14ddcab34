// The settings of a training as JSON with the keys of input.json.

#include <nlohmann/json.hpp>

#include "dptrain/config.h"

namespace dptrain {

using nlohmann::json;

namespace {

template <class T> void put(json &section, const char *key, const std::optional<T> &value)
{
  if (value) section[key] = *value;
}

json schedule_section(const ScheduleConfig &schedule)
{
  const bool exponential = schedule.type == ScheduleType::exponential;
  json section{{"type", exponential ? "exp" : "cosine"},
               {"start_lr", schedule.start_lr},
               {"warmup_start_factor", schedule.warmup_start_factor}};
  put(section, "stop_lr", schedule.stop_lr);
  put(section, "stop_lr_ratio", schedule.stop_lr_ratio);
  put(section, "warmup_ratio", schedule.warmup_ratio);
  if (schedule.warmup_steps > 0) section["warmup_steps"] = schedule.warmup_steps;
  if (!exponential) return section;
  section["decay_steps"] = schedule.decay_steps;
  section["smooth"] = schedule.smooth;
  put(section, "decay_rate", schedule.decay_rate);
  return section;
}

json loss_section(const LossConfig &loss)
{
  return {{"start_pref_e", loss.start_pref_e}, {"limit_pref_e", loss.limit_pref_e},
          {"start_pref_f", loss.start_pref_f}, {"limit_pref_f", loss.limit_pref_f},
          {"start_pref_v", loss.start_pref_v}, {"limit_pref_v", loss.limit_pref_v}};
}

json optimizer_section(const OptimizerConfig &optimizer)
{
  json section{{"type", name_of(optimizer.type)}};
  put(section, "adam_beta1", optimizer.beta1);
  put(section, "adam_beta2", optimizer.beta2);
  put(section, "weight_decay", optimizer.weight_decay);
  put(section, "precision", optimizer.precision);
  if (optimizer.type != OptimizerType::soap) return section;
  section["epsilon"] = optimizer.epsilon;
  section["precondition_frequency"] = optimizer.precondition_frequency;
  section["max_precondition_dim"] = optimizer.max_precondition_dim;
  return section;
}

json training_section(const TrainingConfig &training)
{
  json section{{"numb_steps", training.numb_steps},
               {"batch_size", training.batch_size},
               {"seed", training.seed},
               {"disp_file", training.disp_file},
               {"disp_freq", training.disp_freq},
               {"save_freq", training.save_freq},
               {"enable_ema", training.ema_decay > 0.0}};
  if (training.ema_decay > 0.0) section["ema_decay"] = training.ema_decay;
  return section;
}

}  // namespace

std::string training_text(const TrainingConfig &training)
{
  return json{{"learning_rate", schedule_section(training.schedule)},
              {"loss", loss_section(training.loss)},
              {"optimizer", optimizer_section(training.optimizer)},
              {"training", training_section(training)}}
      .dump();
}

}  // namespace dptrain
