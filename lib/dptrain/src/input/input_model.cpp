#include "input/input_sections.h"

#include "input/model_keys.h"
#include <fmt/format.h>

namespace dptrain {

namespace {

using nlohmann::json;

/// What only other models of DeePMD-kit have.
void refuse_other_models(JsonReader &model)
{
  for (const char *key : {"model_dict", "shared_dict"})
    if (model.has(key))
      model.fail(key, "multi-task models are not in this version; give one model");
  model.only("finetune_head", nullptr, "multi-task models");
  model.only("preset_out_bias", nullptr, "preset_out_bias; fitting_net/atom_ener sets energies");
  for (const char *key : {"use_srtab", "smin_alpha", "sw_rmin", "sw_rmax"})
    model.only(key, nullptr, "interpolation with a pair table");
  model.only("type_embedding", nullptr, "type embeddings");
  model.only("modifier", nullptr, "model modifiers");
  model.only("compress", nullptr, "compressed models: every model here works with a table");
  model.only("spin", nullptr, "spin models");
  model.only("lora", nullptr, "LoRA");
  const std::string bridging = model.text("bridging_method", "None");
  if (bridging != "None" && bridging != "none" && bridging != "NONE")
    model.only("bridging_method", "None", "bridging to a short-range potential");
}

}  // namespace

void check_kind(JsonReader &reader, const std::string &found, const std::vector<std::string> &known,
                const std::string &part)
{
  for (const auto &name : known)
    if (found == name) return;
  reader.fail("type",
              fmt::format("{} \"{}\" is not in this version; use \"{}\"", part, found, known[0]));
}

void ignore(JsonReader &reader, const std::map<std::string, json> &defaults, InputFile &input)
{
  for (const auto &[key, value] : defaults) {
    const json *found = reader.find(key);
    if (found && *found != value) input.ignored.push_back(reader.path(key));
  }
}

void read_model_section(JsonReader model, InputFile &input, bool in_a_run)
{
  ModelConfig &config = input.model;
  refuse_other_models(model);
  check_kind(model, model.text("type", "standard"), {"standard"}, "model type");
  read_type_keys(model, config);
  int &batches = input.offline.data_stat_nbatch;
  batches = static_cast<int>(model.integer("data_stat_nbatch", batches, 1, INT32_MAX));
  model.accept({"info"});  // kept in the model file
  ignore(model,
         {{"data_bias_nsample", 10},
          {"data_stat_protect", 1e-2},  // of frame and atom parameters
          {"srtab_add_bias", true},
          {"model_branch_alias", json::array()},
          {"bridging_r_inner", 0.5},
          {"bridging_r_outer", 0.8}},
         input);

  if (!model.has("descriptor")) model.expected("descriptor", "an object { ... }");
  JsonReader descriptor = model.section("descriptor");
  read_descriptor_section(descriptor, config);
  for (const std::string &key : config.descriptor->ignored_keys())
    if (descriptor.has(key)) input.ignored.push_back(descriptor.path(key));
  descriptor.finish();

  if (!config.descriptor->set_input_defaults(input, in_a_run) && !model.has("fitting_net"))
    model.expected("fitting_net", "an object { ... }");
  JsonReader fitting = model.section("fitting_net");
  check_kind(fitting, fitting.text("type", "ener"), {"ener"}, "fitting net");
  read_fitting_keys(fitting, config);
  fitting.only("rcond", nullptr, "rcond: the energy bias is the plain least-squares solution");
  fitting.finish();
  model.finish();
}

}  // namespace dptrain
