#include "dptrain/potential/descriptor/se_e2_a_config.h"

#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "input/model_keys.h"

namespace dptrain {

namespace {

constexpr double default_sel_factor = 1.1;  // of "auto", as in DeePMD-kit

using nlohmann::json;

/// sel: a list, or "auto" / "auto:F".
void read_sel(JsonReader &section, const std::string &key, DescriptorConfig &descriptor)
{
  auto &config = static_cast<SeE2AConfig &>(descriptor);
  const json &value = *section.find(key);
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    double factor = 1.0;
    const bool plain = text == "auto";
    if (!plain && !(text.compare(0, 5, "auto:") == 0 && is_number(text.substr(5), factor)))
      section.expected(key, "a list of integers, \"auto\" or \"auto:FACTOR\"");
    if (factor < 1.0) section.expected(key, "a factor of at least 1");
    config.sel.clear();
    config.sel_factor = plain ? std::nullopt : std::optional<double>(factor);
    return;
  }
  config.sel = section.integers(key, {});
  std::int64_t total = 0;
  for (const int count : config.sel) {
    if (count < 0) section.expected(key, "integers not below 0");
    total += count;
  }
  if (total == 0) section.expected(key, "at least one positive integer");
}

OrderedJson written_sel(const DescriptorConfig &descriptor)
{
  const auto &config = static_cast<const SeE2AConfig &>(descriptor);
  if (!config.sel.empty()) return config.sel;
  return "auto:" + json(config.sel_factor.value_or(default_sel_factor)).dump();
}

}  // namespace

const Keys<DescriptorConfig> &SeE2AConfig::table() const
{
  using K = Key<DescriptorConfig>;
  using C = SeE2AConfig;
  static const Keys<DescriptorConfig> keys{
      K("rcut_smth", &C::rcut_smth, any_number),
      K("sel", read_sel, written_sel),
      K("neuron", &C::neuron, read_widths).or_named({"n_neuron"}),
      K("axis_neuron", &C::axis_neuron, any_number).or_named({"n_axis_neuron"}),
      K("activation_function", &C::activation, read_activation),
      K("resnet_dt", &C::resnet_dt),
      K("type_one_side", &C::type_one_side),
      K("exclude_types", &C::exclude_types, read_pairs),
      K("env_protection", &C::env_protection, not_negative),
      K("set_davg_zero", &C::set_davg_zero),
  };
  return keys;
}

void SeE2AConfig::complete(JsonReader &section, ModelConfig &model)
{
  check_switch(section, rcut_smth, model.rcut);
  if (!sel.empty() && static_cast<int>(sel.size()) != model.ntypes())
    section.expected("sel", fmt::format("{} integers, one per type of type_map", model.ntypes()));
  if (axis_neuron < 1 || axis_neuron > neuron.back())
    section.fail(section.has("n_axis_neuron") ? "n_axis_neuron" : "axis_neuron",
                 fmt::format("must lie between 1 and the last number of neuron ({}), found {}",
                             neuron.back(), axis_neuron));
  check_types(section, "exclude_types", exclude_types, model.ntypes());
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
