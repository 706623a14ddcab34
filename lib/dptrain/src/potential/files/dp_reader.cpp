#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "input/model_keys.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/files/dp_format.h"
#include "potential/files/stored_bars.h"
#include "potential/native/fitting_shape.h"
#include "potential/nets/network_tree.h"

namespace dptrain {

using nlohmann::json;

namespace {

const std::string only_model =
    "; use a model of DeePMD-kit with descriptor se_e2_a and fitting ener";

/// Zeros if the variable is absent.
std::vector<double> bias(const TreeReader &reader, JsonReader &variables, const std::string &name,
                         const std::vector<std::int64_t> &shape, int ntypes)
{
  if (!variables.has(name)) return std::vector<double>(ntypes, 0.0);
  return reader.array(variables, name, shape);
}

/// Settings and constants of the descriptor.
void read_descriptor(TreeReader &reader, JsonReader &descriptor, ModelData &data)
{
  const std::string name = descriptor.text("type", "se_e2_a");
  const DescriptorType *type = find_descriptor_type(name);
  if (!type)
    descriptor.fail("type", fmt::format("descriptor \"{}\" is not supported{}", name, only_model));
  data.config.descriptor = type->make_config();
  type->read(reader, descriptor, data);
}

void read_fitting(JsonReader &fitting, ModelConfig &config)
{
  const std::string type = fitting.text("type", "ener");
  if (type != "ener")
    fitting.fail("type", fmt::format("fitting \"{}\" is not supported{}", type, only_model));
  check_version(fitting, 1, 4);
  read_fitting_keys(fitting, config);
  fitting.only("mixed_types", false, "fitting nets shared by all types (mixed_types)");
  fitting.only("tot_ener_zero", false, "tot_ener_zero");
  fitting.only("spin", nullptr, "spin models");
  const auto &excluded = config.atom_exclude_types;
  for (const int one : fitting.integers("exclude_types", {}))
    if (std::find(excluded.begin(), excluded.end(), one) == excluded.end())
      fitting.fail("exclude_types", fmt::format("found type {}; exclude_types of the fitting must "
                                                "be among atom_exclude_types of the model",
                                                one));
}

/// All weights in the order of parameter_index(), whose names are places in the tree.
std::vector<double> read_parameters(const TreeReader &reader, const json &tree,
                                    const std::string &path, const ModelConfig &config)
{
  std::vector<double> parameters;
  for (const auto &block : parameter_index(config)) {
    const auto slash = block.name.rfind('/');
    JsonReader variables(tree.at(json::json_pointer(block.name.substr(0, slash))), path,
                         block.name.substr(1, slash - 1));
    const auto values = reader.array(variables, block.name.substr(slash + 1), block.shape);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  return parameters;
}

Walls read_walls(const TreeReader &reader, JsonReader &extra, std::int64_t ntypes)
{
  Walls walls(static_cast<int>(ntypes), HUGE_VAL);
  const std::vector<std::int64_t> square{ntypes, ntypes};
  const std::vector<double> begin = reader.array(extra, "dptrain_walls", square);
  for (int a = 0; a < ntypes; ++a)
    for (int b = 0; b <= a; ++b) walls.begin.lower(a, b, begin[a * ntypes + b]);
  walls.strength = reader.array(extra, "dptrain_wall_strength", square);
  return walls;
}

/// The section `model`, checked to be a model of the kind that this version reads.
JsonReader open_model(JsonReader &root)
{
  if (!root.has("model"))
    root.fail(
        "model",
        "missing: the file is an HDF5 file, but not a model of DeePMD-kit; expected a .dp file");
  JsonReader model = root.section("model");
  if (model.has("model_dict"))
    model.fail("model_dict", "multi-task models are not supported; freeze one head of the model");
  const std::string type = model.text("type", "standard");
  if (type != "standard")
    model.fail("type", fmt::format("model type \"{}\" is not supported{}", type, only_model));
  check_version(model, version_of_deepmd, version_with_terms,
                "use the version of the package that wrote it");
  for (const char *part : {"descriptor", "fitting"})
    if (!model.has(part)) model.expected(part, "an object { ... }");
  return model;
}

}  // namespace

ModelData read_model_tree(const Hdf5File &file, const std::string &path)
{
  const auto text = file.read_text("/", "json");
  if (!text)
    throw Error(fmt::format("{}: an HDF5 file, but not a model of DeePMD-kit (it has no attribute "
                            "'json'); expected a .dp file",
                            path));
  const json tree = parse_json(*text, fmt::format("{} (attribute 'json')", path));
  JsonReader root(tree, path);
  JsonReader model = open_model(root);
  TreeReader reader(file);
  ModelData data;
  ModelConfig &config = data.config;
  read_type_keys(model, config);
  JsonReader descriptor = model.section("descriptor");
  JsonReader fitting = model.section("fitting");
  read_descriptor(reader, descriptor, data);
  read_fitting(fitting, config);
  const int ntypes = config.ntypes();
  check_networks(fitting.section("nets"), ntypes, fitting_shape(config));
  JsonReader model_variables = model.section("@variables");
  data.out_bias = bias(reader, model_variables, "out_bias", {1, ntypes, 1}, ntypes);
  JsonReader fitting_variables = fitting.section("@variables");
  data.bias_atom_e = bias(reader, fitting_variables, "bias_atom_e", {ntypes, 1}, ntypes);
  data.parameters = read_parameters(reader, tree, path, config);

  JsonReader extra = root.section("@variables");
  const auto distance = reader.find(extra, "min_nbor_dist");
  if (distance && distance->values.size() == 1) data.min_nbor_dist = distance->values[0];
  if (extra.has("dptrain_walls")) data.walls = read_walls(reader, extra, ntypes);
  read_bars(file, "", data);
  if (const std::string damage = data.bars.damage(config.ntypes()); !damage.empty())
    throw Error(fmt::format("{}: damaged: {}; copy the file again", path, damage));
  const json *script = root.find("model_def_script");
  data.model_def_script = script ? script->dump() : "{}";
  return data;
}

}  // namespace dptrain
