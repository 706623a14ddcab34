// Settings as JSON with the keys of input.json, all of them written out; and the list of all keys.

#include <cmath>
#include <fmt/format.h>

#include "input/baseline_keys.h"
#include "input/input_sections.h"
#include "input/model_keys.h"

namespace dptrain {

namespace {

OrderedJson model_section(const InputFile &input)
{
  // the model of a TorchScript archive is what the archive says
  if (!input.model.descriptor)
    return input.model_def_script.empty() ? OrderedJson::object()
                                          : OrderedJson::parse(input.model_def_script);
  OrderedJson section = written_model(input.model);
  statistics_keys().write(input.offline, section);
  return section;
}

OrderedJson document_of(const TrainingConfig &training)
{
  OptimizerConfig optimizer = complete(training.optimizer);
  // not a key of DeePMD-kit: without need it would refuse the text
  optimizer.precision = training.optimizer.precision;
  OrderedJson document;
  schedule_keys().write(training.schedule, document["learning_rate"]);
  if (training.schedule.warmup_ratio) document["learning_rate"].erase("warmup_steps");
  loss_keys().write(training.loss, document["loss"]);
  optimizer_keys().write(optimizer, document["optimizer"]);
  training_keys().write(training, document["training"]);
  return document;
}

void add_offline_keys(OrderedJson &section, const OfflineConfig &offline)
{
  offline_keys().write(offline, section);
  if (offline.num_epoch) section.erase("numb_steps");
  OrderedJson &data = section["training_data"];
  data_keys().write(offline.training_data, data);
  training_data_keys().write(offline.training_data, data);
  if (!offline.validation_data) return;
  OrderedJson &validation = section["validation_data"];
  data_keys().write(*offline.validation_data, validation);
  validation_data_keys().write(*offline.validation_data, validation);
}

template <class S> void add_rows(SectionRows &section, const Keys<S> &keys, const S &defaults = S())
{
  for (const Key<S> &key : keys.all()) section.rows.push_back(key.row(defaults));
}

}  // namespace

std::string training_text(const TrainingConfig &training)
{
  OrderedJson document = document_of(training);
  document["training"]["training_data"] = {{"batch_size", training.batch_size}};
  return document.dump();
}

std::string resolved_input_text(const InputFile &input)
{
  OrderedJson document{{"model", model_section(input)}};
  document.update(document_of(input.training));
  add_offline_keys(document["training"], input.offline);
  return document.dump(2) + "\n";
}

std::vector<SectionRows> input_keys()
{
  std::vector<SectionRows> sections;
  const auto begin = [&](const std::string &name) -> SectionRows & {
    return sections.emplace_back(SectionRows{name, {}});
  };
  SectionRows &model = begin("model");
  add_rows(model, model_keys());
  add_rows(model, statistics_keys());
  add_rows(begin("model/baseline"), baseline_keys());
  for (const std::string &type : energy_term_names()) {
    const auto term = make_energy_term_config(type);
    add_rows(begin(fmt::format("model/terms of type {}", type)), term->table(), *term);
  }
  for (const char *type : {"power_spectrum", "nep", "se_e2_a"}) {
    const auto descriptor = make_descriptor_config(type);
    SectionRows &section = begin(fmt::format("model/descriptor of type {}", type));
    ModelConfig defaults;
    if (descriptor->chooses_cutoff()) defaults.cutoff_source = CutoffSource::open;
    add_rows(section, cutoff_keys(), defaults);
    add_rows(section, descriptor->table(), *descriptor);
    add_rows(section, common_descriptor_keys(), *descriptor);
  }
  add_rows(begin("model/fitting_net"), fitting_keys());
  add_rows(begin("learning_rate"), schedule_keys());
  add_rows(begin("loss"), loss_keys());
  add_rows(begin("optimizer"), optimizer_keys(), complete(OptimizerConfig()));
  SectionRows &training = begin("training");
  add_rows(training, training_keys());
  add_rows(training, offline_keys());
  SectionRows &data = begin("training/training_data and training/validation_data");
  add_rows(data, data_keys());
  add_rows(data, training_data_keys());
  add_rows(data, validation_data_keys());
  return sections;
}

int kept_checkpoints(const OfflineConfig &offline, std::int64_t numb_steps, std::int64_t save_freq)
{
  if (!offline.ckpt_keep_ratio) return offline.max_ckpt_keep;
  const std::int64_t written = (numb_steps + save_freq - 1) / save_freq;
  return static_cast<int>(std::ceil(*offline.ckpt_keep_ratio * static_cast<double>(written)));
}

}  // namespace dptrain
