#include "input/input_sections.h"
#include "input/model_keys.h"

namespace dptrain {

namespace {

using nlohmann::json;

const std::vector<ForeignKey> foreign_model_keys{
    {"model_dict", nullptr, "multi-task models"},
    {"shared_dict", nullptr, "multi-task models"},
    {"finetune_head", nullptr, "multi-task models"},
    {"preset_out_bias", nullptr, "preset_out_bias; fitting_net/atom_ener sets energies"},
    {"use_srtab", nullptr, "interpolation with a pair table"},
    {"smin_alpha", nullptr, "interpolation with a pair table"},
    {"sw_rmin", nullptr, "interpolation with a pair table"},
    {"sw_rmax", nullptr, "interpolation with a pair table"},
    {"type_embedding", nullptr, "type embeddings"},
    {"modifier", nullptr, "model modifiers"},
    {"compress", nullptr, "compressed models: every model here works with a table"},
    {"spin", nullptr, "spin models"},
    {"lora", nullptr, "LoRA"},
    {"data_bias_nsample", 10},
    {"data_stat_protect", 1e-2},  // of frame and atom parameters
    {"srtab_add_bias", true},
    {"model_branch_alias", json::array()},
    {"bridging_r_inner", 0.5},
    {"bridging_r_outer", 0.8},
};

}  // namespace

const Keys<OfflineConfig> &statistics_keys()
{
  static const Keys<OfflineConfig> keys{
      Key<OfflineConfig>("data_stat_nbatch", &OfflineConfig::data_stat_nbatch, at_least_1),
  };
  return keys;
}

void read_model_section(JsonReader model, InputFile &input, bool in_a_run)
{
  ModelConfig &config = input.model;
  read_foreign(model, foreign_model_keys, input.ignored);
  const std::string bridging = model.text("bridging_method", "None");
  if (bridging != "none" && bridging != "NONE")
    model.only("bridging_method", "None", "bridging to a short-range potential");
  read_type_keys(model, config);
  statistics_keys().read(model, input.offline);
  model.accept({"info"});  // kept in the model file

  if (!model.has("descriptor")) model.expected("descriptor", "an object { ... }");
  JsonReader descriptor = model.section("descriptor");
  read_descriptor_section(descriptor, config);
  for (const std::string &key : config.descriptor->ignored_keys())
    if (descriptor.has(key)) input.ignored.push_back(descriptor.path(key));
  descriptor.finish();

  if (!config.descriptor->set_input_defaults(input, in_a_run) && !model.has("fitting_net"))
    model.expected("fitting_net", "an object { ... }");
  JsonReader fitting = model.section("fitting_net");
  read_fitting_keys(fitting, config);
  fitting.only("rcond", nullptr, "rcond: the energy bias is the plain least-squares solution");
  fitting.finish();
  model.finish();
}

}  // namespace dptrain
