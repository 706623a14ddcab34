// What distinguishes two models so that the weights of one have no meaning in the other.

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "dptrain/potential/model/model_data.h"
#include "input/model_keys.h"

namespace dptrain {

namespace {

using nlohmann::json;

// Order and repetitions have no meaning.
json pairs_of(const json &pairs)
{
  std::set<std::pair<int, int>> all;
  for (const json &pair : pairs) all.emplace(std::minmax(pair[0].get<int>(), pair[1].get<int>()));
  json result = json::array();
  for (const auto &[a, b] : all) result.push_back(fmt::format("{}-{}", a, b));
  return result;
}

// Energies of separate atoms, of the types for which `wanted` has one: others may be found in data, or asked of a reference.
json energies_of(const json &energies, const json &wanted, const std::vector<std::string> &type_map)
{
  json result = json::array();
  for (std::size_t type = 0; type < std::min(energies.size(), wanted.size()); ++type)
    if (!energies[type].is_null() && !wanted[type].is_null())
      result.push_back(fmt::format("{}={:.15g}", type_map[type], energies[type].get<double>()));
  return result;
}

// A value as people write it: lists without brackets.
std::string shown(const json &value)
{
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.15g}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string all;
  for (const json &item : value) all += (all.empty() ? "" : " ") + shown(item);
  return all.empty() ? "none" : all;
}

// The section `model` with the values in one form, without what does not count: how it is trained.
json comparable(const ModelConfig &config)
{
  json model = json::parse(written_model(config).dump());
  model["pair_exclude_types"] = pairs_of(model["pair_exclude_types"]);
  model["atom_exclude_types"] = model["atom_exclude_types"].get<std::set<int>>();
  json &descriptor = model["descriptor"], &fitting = model["fitting_net"];
  if (descriptor.contains("exclude_types"))
    descriptor["exclude_types"] = pairs_of(descriptor["exclude_types"]);
  for (std::size_t k = 0; k < config.terms.size(); ++k) model["terms"][k] = config.terms[k]->text();
  for (json *part : {&descriptor, &fitting})
    for (const char *key : {"trainable", "seed"}) part->erase(key);
  return model;
}

void add(std::string &differences, const std::string &name, const std::string &there,
         const std::string &here)
{
  differences += fmt::format("{}{} is {} there and {} here", differences.empty() ? "" : "; ", name,
                             there, here);
}

// Key by key. What statistics decide here is no difference.
void compare(const json &there, const json &here, const std::set<std::string> &of_both,
             const std::string &part, std::string &differences)
{
  json all = here;
  for (const auto &[key, value] : there.items()) all.emplace(key, json::array());  // shown as none
  for (const auto &[key, value] : all.items()) {
    const bool is_open = value.is_string() && value.get<std::string>().starts_with("auto");
    if (value.is_object() || is_open) continue;
    const std::string left = shown(there.value(key, json::array())), right = shown(value);
    if (left != right) add(differences, (of_both.count(key) ? part : "") + key, left, right);
  }
}

// Terms as they are once the cutoff is known.
void follow_cutoff(ModelConfig &model)
{
  for (AnyEnergyTermConfig &term : model.terms) term->follow_cutoff(model.rcut);
}

// What a search may have found there is no difference.
void replace_searched(std::vector<AnyEnergyTermConfig> &here,
                      const std::vector<AnyEnergyTermConfig> &there)
{
  for (AnyEnergyTermConfig &term : here) {
    if (!term->is_searched()) continue;
    const auto found = std::find_if(there.begin(), there.end(), [&](const auto &other) {
      return other->type() == term->type();
    });
    if (found == there.end())
      term = {};
    else if (term->may_become(*found->get()))
      term = *found;
  }
  std::erase_if(here, [](const AnyEnergyTermConfig &term) { return !term; });
}

}  // namespace

std::string model_differences(const ModelConfig &there, const ModelConfig &here)
{
  // keys that the descriptor and the fitting net have are told apart
  static const std::set<std::string> of_both{"neuron", "activation_function", "resnet_dt",
                                             "precision", "exclude_types"};
  ModelConfig wanted_here = here;
  if (here.cutoff_source == CutoffSource::open) choose_cutoff(wanted_here, there);
  ModelConfig wanted_there = there;
  follow_cutoff(wanted_there);
  follow_cutoff(wanted_here);
  replace_searched(wanted_here.terms, wanted_there.terms);
  json a = comparable(wanted_there), b = comparable(wanted_here);
  const json wanted = b["fitting_net"]["atom_ener"];
  for (json *model : {&a, &b}) {
    json &energies = (*model)["fitting_net"]["atom_ener"];
    energies = energies_of(energies, wanted, here.type_map);
  }
  std::string differences;
  compare(a, b, {}, "", differences);
  const std::string type = there.descriptor->type();
  if (type != here.descriptor->type())
    add(differences, "descriptor", type, here.descriptor->type());
  else
    compare(a["descriptor"], b["descriptor"], of_both, "descriptor ", differences);
  compare(a["fitting_net"], b["fitting_net"], of_both, "fitting ", differences);
  return differences;
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
