#include "input/input_sections.h"

#include <fmt/format.h>

namespace dptrain {

namespace {

using nlohmann::json;
using Rates = std::vector<std::pair<std::string, double>>;

constexpr double default_ema_decay = 0.999;

/// Keys that change nothing here, of output, of speed on other programs' terms, or of times long past, and those of other
/// trainings.
const std::vector<ForeignKey> foreign_training_keys{
    {"tensorboard", false},
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
    {"load_ckpt", nullptr},
    {"model_prob", json::object(), "multi-task training"},
    {"data_dict", json::object(), "multi-task training"},
    {"num_epoch_dict", json::object(), "multi-task training"},
};

// enable_ema switches on what ema_decay, which comes after it, changes.
void read_enable_ema(JsonReader &reader, const std::string &key, TrainingConfig &training)
{
  const bool has_default = training.ema_decay > 0.0;
  if (!reader.boolean(key, false))
    training.ema_decay = 0.0;
  else if (!has_default)
    training.ema_decay = default_ema_decay;
}

void read_ema_decay(JsonReader &reader, const std::string &key, TrainingConfig &training)
{
  const double decay = read_number(reader, key, zero_to_below_1);
  if (training.ema_decay > 0.0) training.ema_decay = decay;
}

Rates read_rates(JsonReader &reader, const std::string &key)
{
  const json &rates = *reader.find(key);
  const char *expected = "a list of patterns with factors, such as [[\"descriptor\", 0.1]]";
  if (!rates.is_array()) reader.expected(key, expected);
  Rates all;
  for (const json &rate : rates) {
    if (!rate.is_array() || rate.size() != 2 || !rate[0].is_string() || !rate[1].is_number() ||
        !(rate[1].get<double>() >= 0.0))
      reader.expected(key, expected);
    all.emplace_back(rate[0].get<std::string>(), rate[1].get<double>());
  }
  return all;
}

/// Which parameters are trained: keys of this program.
template <class T, class Form>
Key<TrainingConfig> rule_key(const char *name, T ParameterRules::*member, Form form)
{
  return Key<TrainingConfig>(
             name, [=](TrainingConfig &training) -> T & { return training.rules.*member; }, form)
      .if_changed();
}

void check_length(JsonReader &reader, InputFile &input)
{
  std::vector<std::string> given;
  for (const auto &names :
       {training_keys().names_of("numb_steps"), offline_keys().names_of("numb_epoch")})
    for (const std::string &name : names)
      if (reader.has(name)) given.push_back(name);
  input.length_given = input.length_given || !given.empty();
  if (given.size() > 1)
    reader.fail(given.back(), fmt::format("given beside {}; keep one of them", given.front()));
}

/// training_data and validation_data, or, as in DeePMD-kit 1, the former's keys in `training` itself.
void read_data(JsonReader &reader, InputFile &input)
{
  OfflineConfig &offline = input.offline;
  if (reader.has("training_data")) {
    for (const Key<DataConfig> &key : data_keys().all())
      for (const std::string &name : key.names())
        if (reader.has(name)) reader.fail(name, "given beside training_data; move it there");
    JsonReader data = reader.section("training_data");
    data_keys().read(data, offline.training_data);
    training_data_keys().read(data, offline.training_data);
    data.finish();
  } else {
    data_keys().read(reader, offline.training_data);
  }
  const BatchSize &size = offline.training_data.batch_size;
  if (size.rule == BatchSize::Rule::fixed)
    input.training.batch_size = static_cast<int>(size.number);

  if (!reader.has("validation_data")) return;
  JsonReader data = reader.section("validation_data");
  DataConfig &validation = offline.validation_data.emplace();
  if (!data.has("systems")) data.expected("systems", "a text in quotes or a list of them");
  data_keys().read(data, validation);
  validation_data_keys().read(data, validation);
  data.finish();
}

}  // namespace

const Keys<TrainingConfig> &training_keys()
{
  using K = Key<TrainingConfig>;
  using C = TrainingConfig;
  static const Keys<C> keys{
      K("numb_steps", &C::numb_steps, not_negative)
          .or_named({"stop_batch", "num_steps", "num_step", "numb_step"}),
      K("seed", &C::seed, not_negative),
      K("disp_file", &C::disp_file, Filled{"a file name"}),
      K("disp_freq", &C::disp_freq, at_least_1),
      K("save_freq", &C::save_freq, at_least_1),
      K("gradient_max_norm", &C::gradient_max_norm, not_negative),
      K("acc_freq", &C::acc_freq, at_least_1),
      K("enable_ema", read_enable_ema, [](const C &c) { return c.ema_decay > 0.0; }),
      K("ema_decay", read_ema_decay,
        [](const C &c) { return c.ema_decay > 0.0 ? OrderedJson(c.ema_decay) : OrderedJson(); }),
      rule_key("train_only", &ParameterRules::only, Plain()),
      rule_key("train_freeze", &ParameterRules::freeze, Plain()),
      rule_key("train_rates", &ParameterRules::rates, read_rates),
  };
  return keys;
}

const Keys<OfflineConfig> &offline_keys()
{
  using K = Key<OfflineConfig>;
  using C = OfflineConfig;
  static const Keys<C> keys{
      K("numb_epoch", &C::num_epoch, positive).or_named({"num_epochs", "num_epoch", "numb_epochs"}),
      K("save_ckpt", &C::save_ckpt, Filled{"the beginning of a file name"}),
      K("save_dir", &C::save_dir).if_changed(),
      K("max_ckpt_keep", &C::max_ckpt_keep, not_negative),
      K("ckpt_keep_ratio", &C::ckpt_keep_ratio, between_0_and_1),
      K("disp_training", &C::disp_training),
      K("time_training", &C::time_training),
      K("disp_avg", &C::disp_avg),
      K("change_bias_after_training", &C::change_bias_after_training),
      K("held_out", &C::held_out, Range{0.0, 0.5}),
  };
  return keys;
}

void read_training_section(JsonReader &training, InputFile &input)
{
  training_keys().read(training, input.training);
  offline_keys().read(training, input.offline);
  check_length(training, input);
  input.average_given = training.has("enable_ema") || training.has("ema_decay");
  read_data(training, input);
  read_foreign(training, foreign_training_keys, input.ignored);
}

void read_validating_section(JsonReader reader, InputFile &input)
{
  const char *validation =
      "validation over the whole data set during training; training/validation_data validates with "
      "batches, the command test with all data";
  read_foreign(reader,
               {{"full_validation", false, validation},
                {"ema_full_validation", false, validation},
                {"compiled_infer", false},
                {"tf32_infer", false},
                {"amp_infer", false}},
               input.ignored);
  // without the first two, they change nothing in DeePMD-kit either
  reader.accept({"validation_freq", "save_best", "save_best_dir", "max_best_ckpt",
                 "validation_metric", "full_val_file", "full_val_start"});
  reader.finish();
}

}  // namespace dptrain
