#include "commands/start_file.h"

#include <fmt/format.h>

#include "base/text.h"
#include "dptrain/base/error.h"
#include "dptrain/parallel/broadcast.h"
#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/files/model_format.h"
#include "input/json_document.h"
#include "potential/files/nep_elements.h"

namespace dptrain {

namespace {

std::string option_of(const TrainOptions &options)
{
  if (!options.restart.empty()) return fmt::format("--restart {}", options.restart);
  if (!options.init_model.empty()) return fmt::format("--init-model {}", options.init_model);
  return options.finetune.empty() ? "" : fmt::format("--finetune {}", options.finetune);
}

/// The text of the input with another model section.
std::string with_model(const std::string &text, const TrainOptions &options,
                       const std::string &model)
{
  nlohmann::json document = parse_json(text, options.input);
  if (document.is_object()) document["model"] = parse_json(model, "model_def_script");
  return document.dump(2);
}

std::string checkpoint_to_read(const std::string &option)
{
  const std::string path = find_model_file(option);
  const ModelFormat *format = format_of_file(path);
  if (format && (format->ending == std::string(".txt") || format->ending == std::string(".pth")))
    throw Error(fmt::format("{}: a {} has no state of a training: give it to --init-model or "
                            "--finetune",
                            path, format->name));
  return path;
}

/// model/type_map; empty: there is none.
std::vector<std::string> elements_of(const std::string &text, const std::string &path)
{
  const nlohmann::json document = parse_json(text, path);
  const auto model = document.find("model");
  if (model == document.end() || !model->is_object() || !model->contains("type_map")) return {};
  std::vector<std::string> elements;
  for (const nlohmann::json &name : (*model)["type_map"])
    if (name.is_string()) elements.push_back(name.get<std::string>());
  return elements;
}

}  // namespace

StartFile read_start_file(const Communicator &comm, const TrainOptions &options)
{
  StartFile start;
  start.option = option_of(options);
  const bool restarts = !options.restart.empty();
  if (options.use_pretrain_script && (restarts || start.option.empty()))
    throw Error("--use-pretrain-script needs --init-model or --finetune");
  if (start.option.empty()) return start;
  if (restarts) start.restart.emplace();
  start.model.emplace();
  guarded(comm, [&] {
    if (comm.rank() != 0) return;
    if (restarts)
      start.restart = read_checkpoint(checkpoint_to_read(options.restart));
    else
      start.model =
          read_model_file(options.init_model.empty() ? options.finetune : options.init_model);
  });
  if (restarts) {
    broadcast(comm, *start.restart);
    start.model = start.restart->model;
  } else {
    broadcast(comm, *start.model);
  }
  start.model->metric = {};  // that of the parameters before
  start.model->bars = {};
  start.model->learning = {};
  return start;
}

InputFile input_of_start(const std::string &text, const TrainOptions &options, StartFile &start)
{
  if (!start.model) return read_input_text(text, options.input);
  ModelData &model = *start.model;
  if (!model.archive.empty()) {
    InputFile input = read_input_text(text, options.input, {true, nullptr, false});
    input.model = model.config;
    input.model_def_script = model.model_def_script;
    return input;
  }
  const bool replaces = options.use_pretrain_script && !model.model_def_script.empty();
  // elements that the input names stay where the rest of its section is replaced
  if (replaces) keep_elements(model, elements_of(text, options.input));
  InputFile input = read_input_text(
      replaces ? with_model(text, options, model.model_def_script) : text, options.input);
  if (!start.restart && !replaces) keep_elements(model, input.model.type_map);
  model.config.descriptor->trainable = input.model.descriptor->trainable;
  model.config.fitting_trainable = input.model.fitting_trainable;
  if (options.use_pretrain_script) {
    input.model = model.config;
    return input;
  }
  for (const std::string &element : input.model.type_map)
    if (places_in(model.config.type_map, {element})[0] < 0)
      throw Error(fmt::format("{} has no {}: its elements are {}; give a potential that has it, or "
                              "begin without one",
                              start.option, element, joined(model.config.type_map)));
  const std::string differences = model_differences(model.config, input.model);
  if (!differences.empty())
    throw Error(fmt::format("{} holds another model than {} asks for: {}{}", start.option,
                            options.input, differences,
                            start.restart ? "; change the input"
                                          : "; change the input, or give --use-pretrain-script"));
  if (input.model.cutoff_source == CutoffSource::open) choose_cutoff(input.model, model.config);
  return input;
}

}  // namespace dptrain
