// DeePMD-kit's input file: its layout at the top level. The sections are in input_model.cpp, input_training.cpp, ...

#include "input/input_sections.h"
#include "input/nep_in.h"
#include "io/file.h"
#include <fmt/format.h>

namespace dptrain {

using nlohmann::json;

namespace {

/// All sections but the model.
void read_training_sections(JsonReader &root, InputFile &input)
{
  JsonReader training = root.section("training");
  read_training_section(training, input);
  read_optimizer_section(root.section("optimizer"), training, input);
  if (input.training.optimizer.type == OptimizerType::soap && input.soap_start_lr)
    input.training.schedule.start_lr = *input.soap_start_lr;
  read_learning_rate_section(root.section("learning_rate"), training, input);
  read_loss_section(root.section("loss"), input);
  training.finish();
}

/// The section `model` as model files keep it: with the widths of the fitting net where they are not DeePMD-kit's default.
std::string model_script(const json &section, const InputFile &input)
{
  json script = without_comments(section);
  json &fitting = script["fitting_net"];
  const bool is_default = input.model.fitting_neuron == ModelConfig().fitting_neuron;
  if (!is_default && !fitting.contains("neuron") && !fitting.contains("n_neuron"))
    fitting["neuron"] = input.model.fitting_neuron;
  return script.dump();
}

/// Layouts of other versions and of other kinds of training.
void refuse_other_layouts(JsonReader &root)
{
  if (!root.has("model") && root.has("use_smooth"))
    root.fail("use_smooth",
              "this is the layout of DeePMD-kit 0, which is not read; `dp train` of DeePMD-kit 2 "
              "writes the file in the present layout to input_v2_compat.json; add model/type_map");
  for (const char *key : {"loss_dict", "learning_rate_dict"})
    root.only(key, nullptr, "multi-task training");
  JsonReader nvnmd = root.section("nvnmd");
  nvnmd.only("enable", false, "NVNMD");
}

}  // namespace

std::string read_input_file(const std::string &path)
{
  for (const char *end : {".yaml", ".yml"})
    if (path.ends_with(end))
      throw Error(
          fmt::format("{}: an input file must be JSON, not YAML; convert it, for example with: "
                      "python3 -c 'import sys, json, yaml; json.dump(yaml.safe_load(sys.stdin), "
                      "sys.stdout, indent=2)' < {} > input.json",
                      path, path));
  const std::string text = read_file(path);
  return is_nep_in(text, path) ? json_of_nep_in(text, path) : text;
}

InputFile read_input_text(const std::string &text, const std::string &source, const InputUse &use)
{
  const JsonDocument document(text, source, text.find(ignored_of_nep_in) == std::string::npos);
  JsonReader root(document);
  refuse_other_layouts(root);
  InputFile input;
  if (use.model_is_given) {
    root.accept({"model"});
  } else if (use.descriptor && !root.has("model")) {
    use.descriptor->set_input_defaults(input, use.in_a_run);
  } else {
    if (!root.has("model")) root.expected("model", "an object { ... }");
    read_model_section(root.section("model"), input, use.in_a_run);
    input.model_def_script = model_script(document.root()["model"], input);
  }
  read_training_sections(root, input);
  read_validating_section(root.section("validating"), input);
  root.finish();
  for (const json &key : document.root().value(ignored_of_nep_in, json::array()))
    input.ignored.push_back(key.get<std::string>());
  return input;
}

InputFile default_input(const std::vector<std::string> &type_map)
{
  const json document{
      {"model", {{"type_map", type_map}, {"descriptor", {{"type", "power_spectrum"}}}}}};
  return read_input_text(document.dump(), "new", {false, nullptr, true});
}

InputFile read_input(const std::string &path)
{
  return read_input_text(read_input_file(path), path);
}

InputFile read_training_text(const std::string &text, const std::string &source)
{
  const JsonDocument document(text, source);
  JsonReader root(document);
  InputFile input;
  read_training_sections(root, input);
  root.finish();
  return input;
}

}  // namespace dptrain
