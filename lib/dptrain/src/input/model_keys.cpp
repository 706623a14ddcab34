#include "input/model_keys.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace dptrain {

using nlohmann::json;

namespace {

const std::vector<std::string> activations{"tanh",    "relu",        "relu6",    "gelu",
                                           "gelu_tf", "sigmoid",     "softplus", "silu",
                                           "silut",   "custom_silu", "none",     "linear"};

void check_type(const JsonReader &reader, const std::string &key, int type, int ntypes)
{
  if (type < 0 || type >= ntypes)
    reader.fail(key, fmt::format("found type {}, allowed are those of type_map, 0 to {}", type,
                                 ntypes - 1));
}

std::string read_precision(JsonReader &reader)
{
  const std::string name = reader.text("precision", "default");
  if (name == "default" || name == "float64" || name == "double") return "float64";
  if (name == "float32" || name == "single") return "float32";
  reader.fail(
      "precision",
      fmt::format("found \"{}\", allowed are float64 (= default = double) and float32 (= single)",
                  name));
}

std::optional<std::uint64_t> read_seed(JsonReader &reader)
{
  if (!reader.has("seed")) return std::nullopt;
  return static_cast<std::uint64_t>(reader.integer("seed", 0, 0));
}

void read_atom_ener(JsonReader &fitting, ModelConfig &config)
{
  const json *value = fitting.find("atom_ener");
  if (!value) return;
  const auto allowed = [](const json &item) { return item.is_number() || item.is_null(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), allowed) ||
      (!value->empty() && static_cast<int>(value->size()) != config.ntypes()))
    fitting.expected("atom_ener",
                     fmt::format("an empty list, or {} numbers (or null), one per type of type_map",
                                 config.ntypes()));
  config.atom_ener.clear();
  for (const auto &item : *value)
    config.atom_ener.push_back(item.is_null() ? std::nullopt
                                              : std::optional<double>(item.get<double>()));
}

/// true, false or one flag per layer; all true is stored as an empty list.
void read_trainable(JsonReader &fitting, ModelConfig &config)
{
  const json *value = fitting.find("trainable");
  if (!value) return;
  const std::size_t layers = config.fitting_neuron.size() + 1;
  const auto is_flag = [](const json &item) { return item.is_boolean(); };
  if (value->is_boolean())
    config.fitting_trainable.assign(layers, value->get<bool>());
  else if (value->is_array() && value->size() == layers &&
           std::all_of(value->begin(), value->end(), is_flag))
    config.fitting_trainable = value->get<std::vector<bool>>();
  else
    fitting.expected(
        "trainable",
        fmt::format(
            "true, false or a list of {} of them (one per hidden layer and one for the output)",
            layers));
  const auto &flags = config.fitting_trainable;
  if (std::find(flags.begin(), flags.end(), false) == flags.end()) config.fitting_trainable.clear();
}

}  // namespace

std::vector<std::array<int, 2>> read_pairs(JsonReader &reader, const std::string &key, int ntypes)
{
  std::vector<std::array<int, 2>> pairs;
  const json *value = reader.find(key);
  if (!value) return pairs;
  const auto is_pair = [](const json &item) {
    return item.is_array() && item.size() == 2 && item[0].is_number_integer() &&
           item[1].is_number_integer();
  };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_pair))
    reader.expected(key, "a list of pairs of type indices, such as [[0, 1]]");
  for (const auto &item : *value) {
    pairs.push_back({item[0].get<int>(), item[1].get<int>()});
    for (const int type : pairs.back()) check_type(reader, key, type, ntypes);
  }
  return pairs;
}

std::vector<int> read_widths(JsonReader &reader, const std::vector<int> &fallback)
{
  const std::string key = reader.either("neuron", {"n_neuron"});
  const auto widths = reader.integers(key, fallback);
  if (widths.empty() || *std::min_element(widths.begin(), widths.end()) < 1)
    reader.expected(key, "a list of at least one positive integer");
  return widths;
}

bool is_number(const std::string &text, double &number)
{
  if (text.empty()) return false;
  char *end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return *end == '\0' && std::isfinite(number);
}

std::string read_activation(JsonReader &reader, const std::string &key, const std::string &fallback)
{
  std::string name = reader.text(key, fallback);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  const auto colon = name.find(':');
  const std::string base = name.substr(0, colon);
  bool known = std::find(activations.begin(), activations.end(), base) != activations.end();
  double threshold = 0.0;
  if (colon != std::string::npos)
    known =
        (base == "silut" || base == "custom_silu") && is_number(name.substr(colon + 1), threshold);
  if (!known) {
    std::string all;
    for (const auto &one : activations) all += (all.empty() ? "" : " ") + one;
    reader.expected(key, fmt::format("one of {} (silut:T and custom_silu:T with a number T)", all));
  }
  return name;
}

void read_type_keys(JsonReader &model, ModelConfig &config)
{
  config.type_map = model.texts("type_map");
  if (config.type_map.empty())
    model.expected("type_map", "a list of at least one element name, such as [\"O\", \"H\"]");
  auto sorted = config.type_map;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    model.fail("type_map", fmt::format("names \"{}\" twice; name each element once", *twice));
  const int ntypes = config.ntypes();
  config.pair_exclude_types = read_pairs(model, "pair_exclude_types", ntypes);
  config.atom_exclude_types = model.integers("atom_exclude_types", {});
  for (const int type : config.atom_exclude_types)
    check_type(model, "atom_exclude_types", type, ntypes);
}

void read_cutoff(JsonReader &section, const std::string &key, ModelConfig &config)
{
  config.rcut = section.number(key, config.rcut);
  if (!(config.rcut > 0.0)) section.expected(key, "a positive length in Angstrom");
}

void read_common_keys(JsonReader &section, DescriptorConfig &descriptor)
{
  descriptor.precision = read_precision(section);
  descriptor.trainable = section.boolean("trainable", descriptor.trainable);
  descriptor.seed = read_seed(section);
}

void read_descriptor_section(JsonReader &section, ModelConfig &config)
{
  if (!section.has("type"))
    section.expected("type", fmt::format("one of {}", descriptor_type_names()));
  const std::string type = section.text("type", "");
  config.descriptor = make_descriptor_config(type);
  if (!config.descriptor)
    section.fail("type", fmt::format("descriptor \"{}\" is not in this version; use one of {}",
                                     type, descriptor_type_names()));
  config.descriptor->read(section, config);
}

void read_fitting_keys(JsonReader &fitting, ModelConfig &config)
{
  config.fitting_neuron = read_widths(fitting, config.fitting_neuron);
  config.fitting_activation =
      read_activation(fitting, "activation_function", config.fitting_activation);
  config.fitting_resnet_dt = fitting.boolean("resnet_dt", config.fitting_resnet_dt);
  config.fitting_precision = read_precision(fitting);
  read_trainable(fitting, config);
  read_atom_ener(fitting, config);
  config.fitting_seed = read_seed(fitting);
  fitting.only("numb_fparam", 0, "frame parameters (fparam)");
  fitting.only("numb_aparam", 0, "atomic parameters (aparam)");
  fitting.only("dim_case_embd", 0, "case embeddings of multi-task models");
  fitting.only("default_fparam", nullptr, "frame parameters (fparam)");
  fitting.only("use_aparam_as_mask", false, "atomic parameters (aparam)");
  const auto names = fitting.find("layer_name");
  const auto is_null = [](const json &item) { return item.is_null(); };
  if (names && !(names->is_array() && std::all_of(names->begin(), names->end(), is_null)))
    fitting.only("layer_name", nullptr, "layers shared by name");
}

}  // namespace dptrain
