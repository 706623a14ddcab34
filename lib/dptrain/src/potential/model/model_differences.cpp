// What distinguishes two models such that the weights of one have no meaning in the other.

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "dptrain/potential/model/model_data.h"

namespace dptrain {

namespace {

using nlohmann::json;

template <class T> std::string text(const T &value)
{
  std::ostringstream stream;
  stream.precision(15);
  stream << std::boolalpha << value;
  return stream.str();
}

std::string text(const std::array<int, 2> &pair)
{
  return text(pair[0]) + "-" + text(pair[1]);
}

template <class List> std::string list(const List &values)
{
  std::string result;
  for (const auto &value : values) result += (result.empty() ? "" : " ") + text(value);
  return result.empty() ? "none" : result;
}

template <class T> std::string text(const std::vector<T> &values)
{
  return list(values);
}

template <class T> std::string text(const std::set<T> &values)
{
  return list(values);
}

// Order and repetitions have no meaning.
std::set<std::array<int, 2>> pairs_of(const std::vector<std::array<int, 2>> &pairs)
{
  std::set<std::array<int, 2>> result;
  for (const auto &[a, b] : pairs) result.insert({std::min(a, b), std::max(a, b)});
  return result;
}

std::set<int> set_of(const std::vector<int> &values)
{
  return {values.begin(), values.end()};
}

// Keys that the fitting net has, too, are told apart.
std::string name_of(const std::string &key)
{
  static const std::set<std::string> of_both{"neuron", "activation_function", "resnet_dt",
                                             "precision", "exclude_types"};
  return (of_both.count(key) ? "descriptor " : "") + key;
}

class Differences {
 public:
  template <class T> void compare(const std::string &name, const T &there, const T &here)
  {
    if (!(there == here)) add(name, dptrain::text(there), dptrain::text(here));
  }
  void add(const std::string &name, const std::string &there, const std::string &here)
  {
    text_ +=
        fmt::format("{}{} is {} there and {} here", text_.empty() ? "" : "; ", name, there, here);
  }
  const std::string &text() const { return text_; }

 private:
  std::string text_;
};

// A value of a key as people write it: lists without brackets, pairs of types in one order.
std::string shown(const std::string &key, const json &value)
{
  if (key == "exclude_types") return text(pairs_of(value.get<std::vector<std::array<int, 2>>>()));
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return text(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string all;
  for (const json &item : value) all += (all.empty() ? "" : " ") + shown("", item);
  return all.empty() ? "none" : all;
}

// Key by key. How it is trained does not count, nor what statistics decide here.
void compare_descriptors(const ModelConfig &there, const ModelConfig &here,
                         Differences &differences)
{
  const std::string type = there.descriptor->type();
  if (type != here.descriptor->type())
    return differences.add("descriptor", type, here.descriptor->type());
  json a = json::parse(there.descriptor->keys(there)), b = json::parse(here.descriptor->keys(here));
  for (const auto &[key, value] : a.items()) b.emplace(key, json::array());  // shown as none
  for (const auto &[key, value] : b.items()) {
    const bool is_open = value.is_string() && starts_with(value.get<std::string>(), "auto");
    if (key == "trainable" || key == "seed" || is_open) continue;
    const std::string left = shown(key, a.value(key, json::array())), right = shown(key, value);
    if (left != right) differences.add(name_of(key), left, right);
  }
}

// Energies of isolated atoms; one that is not given is no difference to a list that ends before it.
std::string energies_of(const ModelConfig &config)
{
  std::string result;
  const std::size_t types = std::min(config.atom_ener.size(), config.type_map.size());
  for (std::size_t type = 0; type < types; ++type) {
    const auto &energy = config.atom_ener[type];
    if (energy) result += (result.empty() ? "" : " ") + config.type_map[type] + "=" + text(*energy);
  }
  return result.empty() ? "none" : result;
}

}  // namespace

std::string model_differences(const ModelConfig &there, const ModelConfig &here)
{
  Differences differences;
  differences.compare("type_map", there.type_map, here.type_map);
  compare_descriptors(there, here, differences);
  differences.compare("fitting neuron", there.fitting_neuron, here.fitting_neuron);
  differences.compare("fitting activation_function", there.fitting_activation,
                      here.fitting_activation);
  differences.compare("fitting resnet_dt", there.fitting_resnet_dt, here.fitting_resnet_dt);
  differences.compare("pair_exclude_types", pairs_of(there.pair_exclude_types),
                      pairs_of(here.pair_exclude_types));
  differences.compare("atom_exclude_types", set_of(there.atom_exclude_types),
                      set_of(here.atom_exclude_types));
  differences.compare("atom_ener", energies_of(there), energies_of(here));
  differences.compare("fitting precision", there.fitting_precision, here.fitting_precision);
  return differences.text();
}

std::string model_differences(const ModelData &there, const ModelData &here)
{
  const auto name = [](const ModelData &data) {
    return data.kind == ModelKind::native ? "native" : "TorchScript";
  };
  if (there.kind != here.kind)
    return fmt::format("the model is {} there and {} here", name(there), name(here));
  if (there.kind == ModelKind::native) return model_differences(there.config, here.config);
  if (there.config.type_map != here.config.type_map) return "type_map differs";
  if (there.parameters.size() != here.parameters.size())
    return fmt::format("the model has {} parameters there and {} here", there.parameters.size(),
                       here.parameters.size());
  if (there.model_def_script != here.model_def_script) return "model_def_script differs";
  return "";
}

}  // namespace dptrain
