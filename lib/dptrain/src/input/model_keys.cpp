#include "input/model_keys.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace dptrain {

using nlohmann::json;

namespace {

const std::vector<std::string> activations{"tanh",    "relu",        "relu6",    "gelu",
                                           "gelu_tf", "sigmoid",     "softplus", "silu",
                                           "silut",   "custom_silu", "none",     "linear"};

/// Number of a text that is nothing else.
bool is_number(const std::string &text, double &number)
{
  if (text.empty()) return false;
  char *end = nullptr;
  number = std::strtod(text.c_str(), &end);
  return *end == '\0' && std::isfinite(number);
}

void check_type(const JsonReader &reader, const std::string &key, int type, int ntypes)
{
  if (type < 0 || type >= ntypes)
    reader.fail(key, "found type " + std::to_string(type) + ", but type_map has the types 0 to " +
                         std::to_string(ntypes - 1));
}

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

std::string read_precision(JsonReader &reader)
{
  const std::string name = reader.text("precision", "default");
  if (name == "default" || name == "float64" || name == "double") return "float64";
  if (name == "float32" || name == "single") return "float32";
  reader.fail("precision", "found \"" + name +
                               "\"; this version has float64 (= default = double) and float32 "
                               "(= single)");
}

std::optional<std::uint64_t> read_seed(JsonReader &reader)
{
  if (!reader.has("seed")) return std::nullopt;
  return static_cast<std::uint64_t>(reader.integer("seed", 0, 0));
}

/// sel: a list, or "auto" / "auto:F".
void read_sel(JsonReader &descriptor, ModelConfig &config)
{
  const json *value = descriptor.find("sel");
  if (!value) return;
  if (value->is_string()) {
    const std::string text = value->get<std::string>();
    double factor = config.sel_factor;
    const bool plain = text == "auto";
    if (!plain && !(text.compare(0, 5, "auto:") == 0 && is_number(text.substr(5), factor)))
      descriptor.expected("sel", "a list of integers, \"auto\" or \"auto:FACTOR\"");
    if (factor < 1.0) descriptor.expected("sel", "a factor of at least 1");
    config.sel.clear();
    config.sel_factor = factor;
    return;
  }
  config.sel = descriptor.integers("sel", {});
  if (static_cast<int>(config.sel.size()) != config.ntypes())
    descriptor.expected("sel",
                        std::to_string(config.ntypes()) + " integers, one per type of type_map");
  int total = 0;
  for (const int count : config.sel) {
    if (count < 0) descriptor.expected("sel", "integers not below 0");
    total += count;
  }
  if (total == 0) descriptor.expected("sel", "at least one positive integer");
}

void read_atom_ener(JsonReader &fitting, ModelConfig &config)
{
  const json *value = fitting.find("atom_ener");
  if (!value) return;
  const auto allowed = [](const json &item) { return item.is_number() || item.is_null(); };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), allowed) ||
      (!value->empty() && static_cast<int>(value->size()) != config.ntypes()))
    fitting.expected("atom_ener", "an empty list, or " + std::to_string(config.ntypes()) +
                                      " numbers (or null), one per type of type_map");
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
    fitting.expected("trainable", "true, false or a list of " + std::to_string(layers) +
                                      " of them (one per hidden layer and one for the output)");
  const auto &flags = config.fitting_trainable;
  if (std::find(flags.begin(), flags.end(), false) == flags.end()) config.fitting_trainable.clear();
}

}  // namespace

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
    reader.expected(key, "one of " + all + " (silut:T and custom_silu:T with a number T)");
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
  if (twice != sorted.end()) model.fail("type_map", "names \"" + *twice + "\" twice");
  const int ntypes = config.ntypes();
  config.pair_exclude_types = read_pairs(model, "pair_exclude_types", ntypes);
  config.atom_exclude_types = model.integers("atom_exclude_types", {});
  for (const int type : config.atom_exclude_types)
    check_type(model, "atom_exclude_types", type, ntypes);
}

void read_descriptor_keys(JsonReader &descriptor, ModelConfig &config)
{
  config.rcut = descriptor.number("rcut", config.rcut);
  config.rcut_smth = descriptor.number("rcut_smth", config.rcut_smth);
  if (!(config.rcut > 0.0)) descriptor.expected("rcut", "a positive length in Angstrom");
  if (!(config.rcut_smth >= 0.0 && config.rcut_smth < config.rcut))
    descriptor.fail("rcut_smth", "must be at least 0 and smaller than rcut; found rcut_smth = " +
                                     json(config.rcut_smth).dump() +
                                     ", rcut = " + json(config.rcut).dump());
  read_sel(descriptor, config);
  config.neuron = read_widths(descriptor, config.neuron);
  const std::string axis = descriptor.either("axis_neuron", {"n_axis_neuron"});
  config.axis_neuron = static_cast<int>(descriptor.integer(axis, config.axis_neuron));
  if (config.axis_neuron < 1 || config.axis_neuron > config.neuron.back())
    descriptor.fail(axis, "must lie between 1 and the last number of neuron (" +
                              std::to_string(config.neuron.back()) + "), found " +
                              std::to_string(config.axis_neuron));
  config.activation = read_activation(descriptor, "activation_function", config.activation);
  config.resnet_dt = descriptor.boolean("resnet_dt", config.resnet_dt);
  config.type_one_side = descriptor.boolean("type_one_side", config.type_one_side);
  config.exclude_types = read_pairs(descriptor, "exclude_types", config.ntypes());
  config.env_protection = descriptor.number("env_protection", config.env_protection);
  if (config.env_protection < 0.0) descriptor.expected("env_protection", "a number not below 0");
  config.set_davg_zero = descriptor.boolean("set_davg_zero", config.set_davg_zero);
  config.precision = read_precision(descriptor);
  config.trainable = descriptor.boolean("trainable", config.trainable);
  config.seed = read_seed(descriptor);
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
