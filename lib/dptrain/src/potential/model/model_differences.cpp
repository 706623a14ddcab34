// What distinguishes two models such that the weights of one have no meaning in the other.

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "dptrain/potential/model/model_data.h"

namespace dptrain {

namespace {

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
  std::string differences;
  const auto compare = [&](const char *name, const auto &a, const auto &b) {
    if (a == b) return;
    differences += (differences.empty() ? "" : "; ") + std::string(name) + " is " + text(a) +
                   " there and " + text(b) + " here";
  };
  compare("type_map", there.type_map, here.type_map);
  compare("rcut", there.rcut, here.rcut);
  compare("rcut_smth", there.rcut_smth, here.rcut_smth);
  if (!here.sel.empty()) compare("sel", there.sel, here.sel);
  compare("descriptor neuron", there.neuron, here.neuron);
  compare("axis_neuron", there.axis_neuron, here.axis_neuron);
  compare("descriptor activation_function", there.activation, here.activation);
  compare("descriptor resnet_dt", there.resnet_dt, here.resnet_dt);
  compare("type_one_side", there.type_one_side, here.type_one_side);
  compare("fitting neuron", there.fitting_neuron, here.fitting_neuron);
  compare("fitting activation_function", there.fitting_activation, here.fitting_activation);
  compare("fitting resnet_dt", there.fitting_resnet_dt, here.fitting_resnet_dt);
  compare("descriptor exclude_types", pairs_of(there.exclude_types), pairs_of(here.exclude_types));
  compare("pair_exclude_types", pairs_of(there.pair_exclude_types),
          pairs_of(here.pair_exclude_types));
  compare("atom_exclude_types", set_of(there.atom_exclude_types), set_of(here.atom_exclude_types));
  compare("atom_ener", energies_of(there), energies_of(here));
  compare("env_protection", there.env_protection, here.env_protection);
  compare("set_davg_zero", there.set_davg_zero, here.set_davg_zero);
  compare("descriptor precision", there.precision, here.precision);
  compare("fitting precision", there.fitting_precision, here.fitting_precision);
  return differences;
}

std::string model_differences(const ModelData &there, const ModelData &here)
{
  const auto name = [](const ModelData &data) {
    return data.kind == ModelKind::native ? "native" : "TorchScript";
  };
  if (there.kind != here.kind)
    return std::string("the model is ") + name(there) + " there and " + name(here) + " here";
  if (there.kind == ModelKind::native) return model_differences(there.config, here.config);
  if (there.config.type_map != here.config.type_map) return "type_map differs";
  if (there.parameters.size() != here.parameters.size())
    return "the model has " + std::to_string(there.parameters.size()) + " parameters there and " +
           std::to_string(here.parameters.size()) + " here";
  if (there.model_def_script != here.model_def_script) return "model_def_script differs";
  return "";
}

}  // namespace dptrain
