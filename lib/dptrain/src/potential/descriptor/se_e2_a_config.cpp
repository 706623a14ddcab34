#include "dptrain/potential/descriptor/se_e2_a_config.h"

#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "input/model_keys.h"

namespace dptrain {

namespace {

constexpr double default_sel_factor = 1.1;  // of "auto", as in DeePMD-kit

using nlohmann::json;

/// sel: a list, or "auto" / "auto:F".
void read_sel(JsonReader &section, int ntypes, SeE2AConfig &config)
{
  const json *value = section.find("sel");
  if (!value) return;
  if (value->is_string()) {
    const std::string text = value->get<std::string>();
    double factor = 1.0;
    const bool plain = text == "auto";
    if (!plain && !(text.compare(0, 5, "auto:") == 0 && is_number(text.substr(5), factor)))
      section.expected("sel", "a list of integers, \"auto\" or \"auto:FACTOR\"");
    if (factor < 1.0) section.expected("sel", "a factor of at least 1");
    config.sel.clear();
    config.sel_factor = plain ? std::nullopt : std::optional<double>(factor);
    return;
  }
  config.sel = section.integers("sel", {});
  if (static_cast<int>(config.sel.size()) != ntypes)
    section.expected("sel", fmt::format("{} integers, one per type of type_map", ntypes));
  int total = 0;
  for (const int count : config.sel) {
    if (count < 0) section.expected("sel", "integers not below 0");
    total += count;
  }
  if (total == 0) section.expected("sel", "at least one positive integer");
}

}  // namespace

void SeE2AConfig::read(JsonReader &section, ModelConfig &model)
{
  read_cutoff(section, "rcut", model);
  rcut_smth = section.number("rcut_smth", rcut_smth);
  if (!(rcut_smth >= 0.0 && rcut_smth < model.rcut))
    section.fail(
        "rcut_smth",
        fmt::format("must be at least 0 and smaller than rcut; found rcut_smth = {}, rcut = {}",
                    json(rcut_smth).dump(), json(model.rcut).dump()));
  read_sel(section, model.ntypes(), *this);
  neuron = read_widths(section, neuron);
  const std::string axis = section.either("axis_neuron", {"n_axis_neuron"});
  axis_neuron = static_cast<int>(section.integer(axis, axis_neuron));
  if (axis_neuron < 1 || axis_neuron > neuron.back())
    section.fail(axis,
                 fmt::format("must lie between 1 and the last number of neuron ({}), found {}",
                             neuron.back(), axis_neuron));
  activation = read_activation(section, "activation_function", activation);
  resnet_dt = section.boolean("resnet_dt", resnet_dt);
  type_one_side = section.boolean("type_one_side", type_one_side);
  exclude_types = read_pairs(section, "exclude_types", model.ntypes());
  env_protection = section.number("env_protection", env_protection);
  if (env_protection < 0.0) section.expected("env_protection", "a number not below 0");
  set_davg_zero = section.boolean("set_davg_zero", set_davg_zero);
  read_common_keys(section, *this);
}

std::string SeE2AConfig::keys(const ModelConfig &model) const
{
  nlohmann::ordered_json section{{"type", type()},
                                 {"rcut", model.rcut},
                                 {"rcut_smth", rcut_smth},
                                 {"sel", sel},
                                 {"neuron", neuron},
                                 {"axis_neuron", axis_neuron},
                                 {"activation_function", activation},
                                 {"resnet_dt", resnet_dt},
                                 {"type_one_side", type_one_side},
                                 {"exclude_types", exclude_types},
                                 {"env_protection", env_protection},
                                 {"set_davg_zero", set_davg_zero},
                                 {"precision", precision},
                                 {"trainable", trainable}};
  if (sel.empty()) section["sel"] = "auto:" + json(sel_factor.value_or(default_sel_factor)).dump();
  if (seed) section["seed"] = *seed;
  return section.dump();
}

const SeE2AConfig &se_e2_a(const ModelConfig &model)
{
  const DescriptorConfig *descriptor = model.descriptor.get();
  if (const auto *config = dynamic_cast<const SeE2AConfig *>(descriptor)) return *config;
  throw Error(fmt::format("this needs a model with descriptor se_e2_a{}",
                          descriptor ? fmt::format("; this one has {}", descriptor->type())
                                     : std::string()));
}

SeE2AConfig &se_e2_a(ModelConfig &model)
{
  return const_cast<SeE2AConfig &>(se_e2_a(static_cast<const ModelConfig &>(model)));
}

}  // namespace dptrain
