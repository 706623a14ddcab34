#include <cmath>
#include <fmt/format.h>

#include "input/input_sections.h"

namespace dptrain {

namespace {

using nlohmann::json;

void read_length(JsonReader &reader, InputFile &input)
{
  const std::string steps =
      reader.either("numb_steps", {"stop_batch", "num_steps", "num_step", "numb_step"});
  const std::string epochs =
      reader.either("numb_epoch", {"num_epochs", "num_epoch", "numb_epochs"});
  input.length_given = input.length_given || reader.has(steps) || reader.has(epochs);
  input.training.numb_steps = reader.integer(steps, input.training.numb_steps, 1);
  if (!reader.has(epochs)) return;
  if (reader.has(steps))
    reader.fail(epochs, fmt::format("given beside {}; keep one of them", steps));
  input.offline.num_epoch = reader.positive(epochs, 1.0);
}

/// What is written, and when.
void read_output(JsonReader &reader, TrainingConfig &training, OfflineConfig &offline)
{
  training.disp_file = reader.text("disp_file", training.disp_file);
  if (training.disp_file.empty()) reader.expected("disp_file", "a file name");
  training.disp_freq = reader.integer("disp_freq", training.disp_freq, 1);
  training.save_freq = reader.integer("save_freq", training.save_freq, 1);
  offline.save_ckpt = reader.text("save_ckpt", offline.save_ckpt);
  if (offline.save_ckpt.empty()) reader.expected("save_ckpt", "the beginning of a file name");
  offline.save_dir = reader.text("save_dir", offline.save_dir);
  offline.max_ckpt_keep =
      static_cast<int>(reader.integer("max_ckpt_keep", offline.max_ckpt_keep, 0, INT32_MAX));
  offline.ckpt_keep_ratio = reader.optional_number("ckpt_keep_ratio");
  if (offline.ckpt_keep_ratio &&
      !(*offline.ckpt_keep_ratio > 0.0 && *offline.ckpt_keep_ratio < 1.0))
    reader.expected("ckpt_keep_ratio", "a number above 0 and below 1");
  offline.disp_training = reader.boolean("disp_training", offline.disp_training);
  offline.time_training = reader.boolean("time_training", offline.time_training);
  offline.disp_avg = reader.boolean("disp_avg", offline.disp_avg);
}

/// Settings of a step.
void read_step(JsonReader &reader, TrainingConfig &training)
{
  constexpr double default_decay = 0.999;
  training.seed = static_cast<std::uint64_t>(
      reader.integer("seed", static_cast<std::int64_t>(training.seed), 0));
  const bool by_default = training.ema_decay > 0.0;
  const bool average = reader.boolean("enable_ema", by_default);
  const double decay = reader.number("ema_decay", by_default ? training.ema_decay : default_decay);
  if (!(decay >= 0.0 && decay < 1.0)) reader.expected("ema_decay", "a number from 0 to below 1");
  training.ema_decay = average ? decay : 0.0;
  training.gradient_max_norm = reader.not_negative("gradient_max_norm", training.gradient_max_norm);
  training.acc_freq = static_cast<int>(reader.integer("acc_freq", training.acc_freq, 1, INT32_MAX));
}

/// Keys of this program: which parameters are trained.
void read_rules(JsonReader &reader, ParameterRules &rules)
{
  rules.only = reader.texts("train_only");
  rules.freeze = reader.texts("train_freeze");
  const json *rates = reader.find("train_rates");
  if (!rates) return;
  const char *expected = "a list of patterns with factors, such as [[\"descriptor\", 0.1]]";
  if (!rates->is_array()) reader.expected("train_rates", expected);
  for (const json &rate : *rates) {
    if (!rate.is_array() || rate.size() != 2 || !rate[0].is_string() || !rate[1].is_number() ||
        !(rate[1].get<double>() >= 0.0))
      reader.expected("train_rates", expected);
    rules.rates.emplace_back(rate[0].get<std::string>(), rate[1].get<double>());
  }
}

/// training_data and validation_data, or, as in DeePMD-kit 1, the former's keys in `training` itself.
void read_data(JsonReader &reader, InputFile &input)
{
  OfflineConfig &offline = input.offline;
  if (reader.has("training_data")) {
    for (const char *key : {"systems", "set_prefix", "batch_size", "sys_probs", "sys_weights",
                            "sys_prob", "auto_prob", "auto_prob_style", "rglob_patterns"})
      if (reader.has(key)) reader.fail(key, "given beside training_data; move it there");
    JsonReader data = reader.section("training_data");
    read_data_keys(data, offline.training_data);
    offline.training_data.min_pair_dist = data.not_negative("min_pair_dist", 0.0);
    data.finish();
  } else {
    read_data_keys(reader, offline.training_data);
  }
  const BatchSize &size = offline.training_data.batch_size;
  if (size.rule == BatchSize::Rule::fixed)
    input.training.batch_size = static_cast<int>(size.number);

  if (!reader.has("validation_data")) return;
  JsonReader data = reader.section("validation_data");
  DataConfig &validation = offline.validation_data.emplace();
  if (!data.has("systems")) data.expected("systems", "a text in quotes or a list of them");
  read_data_keys(data, validation);
  const std::string count = data.either("numb_btch", {"numb_batch"});
  validation.numb_btch = static_cast<int>(data.integer(count, validation.numb_btch, 1, INT32_MAX));
  data.finish();
}

/// Keys that change nothing here: of output, of speed on other programs' terms, or of times long past.
void note_ignored(JsonReader &reader, InputFile &input)
{
  ignore(reader,
         {{"tensorboard", false},
          {"tensorboard_log_dir", "log"},
          {"tensorboard_freq", 1},
          {"profiling", false},
          {"profiling_file", "timeline.json"},
          {"enable_profiler", false},
          {"enable_compile", false},
          {"enable_tf32", false},
          {"neighbor_graph_method", "auto"},
          {"mixed_precision", nullptr},
          {"zero_stage", 0},
          {"ema_ckpt_keep", nullptr},
          {"stat_file", nullptr},
          {"stat_file_mode", "update"},
          {"numb_test", nullptr},
          {"load_ckpt", nullptr}},
         input);
}

}  // namespace

void read_training_section(JsonReader &training, InputFile &input)
{
  read_length(training, input);
  read_output(training, input.training, input.offline);
  input.average_given = training.has("enable_ema") || training.has("ema_decay");
  read_step(training, input.training);
  read_rules(training, input.training.rules);
  read_data(training, input);
  input.offline.change_bias_after_training =
      training.boolean("change_bias_after_training", input.offline.change_bias_after_training);
  note_ignored(training, input);
  for (const char *key : {"model_prob", "data_dict", "num_epoch_dict"})
    training.only(key, json::object(), "multi-task training");
}

void read_validating_section(JsonReader reader, InputFile &input)
{
  for (const char *key : {"full_validation", "ema_full_validation"})
    reader.only(key, false,
                "validation over the whole data set during training; training/validation_data "
                "validates with batches, the command test with all data");
  // without these two, they change nothing in DeePMD-kit either
  reader.accept({"validation_freq", "save_best", "save_best_dir", "max_best_ckpt",
                 "validation_metric", "full_val_file", "full_val_start"});
  ignore(reader, {{"compiled_infer", false}, {"tf32_infer", false}, {"amp_infer", false}}, input);
  reader.finish();
}

}  // namespace dptrain
