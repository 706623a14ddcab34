#include <algorithm>
#include <cmath>

#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "input/model_keys.h"
#include "potential/files/dp_format.h"

namespace dptrain {

using nlohmann::json;

namespace {

const std::string only_model =
    "; this version reads DeePMD-kit models with descriptor se_e2_a and fitting ener";

/// Throws unless @version lies in [least, most]; absent means 1.
void check_version(JsonReader &reader, std::int64_t least, std::int64_t most)
{
  const std::int64_t version = reader.integer("@version", 1);
  if (version < least || version > most)
    reader.fail("@version", "found " + std::to_string(version) + ", this version reads " +
                                std::to_string(least) + " to " + std::to_string(most) +
                                "; write the model again with DeePMD-kit 3.0 to 3.2");
}

std::string show_shape(const std::vector<std::int64_t> &shape)
{
  std::string text = "[";
  for (const auto extent : shape) text += (text.size() > 1 ? "," : "") + std::to_string(extent);
  return text + "]";
}

/// The array behind a variable of the tree; nothing if the variable is absent.
std::optional<Hdf5Array> find_variable(const Hdf5File &file, JsonReader &variables,
                                       const std::string &name)
{
  const json *value = variables.find(name);
  if (!value) return std::nullopt;
  if (value->is_number()) return Hdf5Array{{}, {value->get<double>()}};
  auto array = file.read_array(variables.text(name, ""));
  for (const double number : array.values)
    if (!std::isfinite(number)) variables.fail(name, "holds a value that is not finite");
  return array;
}

/// An array that must be there with this shape.
std::vector<double> variable(const Hdf5File &file, JsonReader &variables, const std::string &name,
                             const std::vector<std::int64_t> &shape)
{
  auto array = find_variable(file, variables, name);
  if (!array) variables.fail(name, "the array is missing; the file is not a complete model");
  // DeePMD-kit flattens what should be a vector
  const bool flat = shape.size() == 1 && array->values.size() == static_cast<std::size_t>(shape[0]);
  if (array->shape != shape && !flat)
    variables.fail(name, "expected an array of shape " + show_shape(shape) + ", found " +
                             show_shape(array->shape));
  return std::move(array->values);
}

/// Zeros if the variable is absent.
std::vector<double> bias(const Hdf5File &file, JsonReader &variables, const std::string &name,
                         const std::vector<std::int64_t> &shape, int ntypes)
{
  if (!variables.has(name)) return std::vector<double>(ntypes, 0.0);
  return variable(file, variables, name, shape);
}

void read_descriptor(JsonReader &descriptor, ModelConfig &config)
{
  const std::string type = descriptor.text("type", "se_e2_a");
  if (type != "se_e2_a" && type != "se_a")
    descriptor.fail("type", "descriptor \"" + type + "\" is not supported" + only_model);
  if (descriptor.has("compress") || descriptor.integer("@version", 1) == 3)
    descriptor.fail("@version", "the model is compressed (tables instead of embedding nets); "
                                "use the model from before dp compress");
  check_version(descriptor, 1, 2);
  descriptor.only("spin", nullptr, "spin models");
  JsonReader env_mat = descriptor.section("env_mat");
  env_mat.only("use_exp_switch", false, "the exponential switch function");
  // defaults of DeePMD-kit's class, which differ from those of its input file
  config.neuron = {24, 48, 96};
  config.axis_neuron = 8;
  config.type_one_side = true;
  config.env_protection = env_mat.number("protection", 0.0);
  for (const char *key : {"rcut", "rcut_smth", "sel"})
    if (!descriptor.has(key)) descriptor.expected(key, "a value");
  read_descriptor_keys(descriptor, config);
  if (config.sel.empty()) descriptor.expected("sel", "a list of integers");
}

void read_fitting(JsonReader &fitting, ModelConfig &config)
{
  const std::string type = fitting.text("type", "ener");
  if (type != "ener")
    fitting.fail("type", "fitting \"" + type + "\" is not supported" + only_model);
  check_version(fitting, 1, 4);
  read_fitting_keys(fitting, config);
  fitting.only("mixed_types", false, "fitting nets shared by all types (mixed_types)");
  fitting.only("tot_ener_zero", false, "tot_ener_zero");
  fitting.only("spin", nullptr, "spin models");
  const auto &excluded = config.atom_exclude_types;
  for (const int one : fitting.integers("exclude_types", {}))
    if (std::find(excluded.begin(), excluded.end(), one) == excluded.end())
      fitting.fail("exclude_types", "found type " + std::to_string(one) +
                                        "; this version has exclude_types of the fitting only for "
                                        "types that atom_exclude_types of the model names too");
}

/// davg or dstd: [ntypes][nnei][4] in the file, [ntypes][4] here. All slots must be equal.
std::vector<double> read_moments(const Hdf5File &file, JsonReader &variables, const char *name,
                                 const ModelConfig &config)
{
  const std::size_t ntypes = config.type_map.size();
  std::size_t slots = 0;
  for (const int count : config.sel) slots += count;
  const auto full = variable(file, variables, name, {std::int64_t(ntypes), std::int64_t(slots), 4});
  std::vector<double> moments(ntypes * 4);
  for (std::size_t type = 0; type < ntypes; ++type) {
    const double *first = full.data() + type * slots * 4;
    for (std::size_t slot = 1; slot < slots; ++slot)
      if (!std::equal(first, first + 4, first + slot * 4))
        variables.fail(name, "differs between the neighbor slots of type " + config.type_map[type] +
                                 "; this version needs one set of values per center type");
    std::copy(first, first + 4, moments.begin() + type * 4);
  }
  return moments;
}

void check_moments(const JsonReader &variables, const ModelData &data)
{
  for (std::size_t type = 0; type < data.davg.size() / 4; ++type) {
    const double *mean = &data.davg[type * 4];
    const double *deviation = &data.dstd[type * 4];
    if (mean[1] != 0.0 || mean[2] != 0.0 || mean[3] != 0.0)
      variables.fail("davg", "the mean of the angular columns must be 0 (rotational invariance)");
    if (deviation[1] != deviation[2] || deviation[2] != deviation[3])
      variables.fail("dstd", "the three angular columns must be equal (rotational invariance)");
    if (!(deviation[0] > 0.0 && deviation[1] > 0.0)) variables.fail("dstd", "must be positive");
  }
}

/// Settings that all networks of a collection have in common.
struct NetShape {
  std::size_t count;
  int input;
  std::vector<int> neuron;  // hidden layers
  std::string activation;
  bool resnet_dt, output_layer;
};

/// Checks one layer against the settings: DeePMD-kit could store others per layer.
void check_layer(JsonReader layer, const NetShape &shape, std::size_t k)
{
  const bool hidden = k < shape.neuron.size();
  const std::string found = read_activation(layer, "activation_function", "none");
  if (hidden ? found != shape.activation : found != "none" && found != "linear")
    layer.fail("activation_function", "found \"" + found + "\", expected \"" +
                                          (hidden ? shape.activation : "none") + "\"");
  if (layer.boolean("resnet", false) != hidden)
    layer.fail("resnet", std::string("expected ") + (hidden ? "true" : "false"));
  layer.only("bias", true, "layers without bias");
  const int in = k == 0 ? shape.input : shape.neuron[k - 1];
  const bool skip = hidden && (shape.neuron[k] == in || shape.neuron[k] == 2 * in);
  JsonReader variables = layer.section("@variables");
  if (variables.has("idt") != (skip && shape.resnet_dt))
    variables.fail("idt",
                   variables.has("idt") ? "must be null in this layer" : "the array is missing");
}

void check_networks(JsonReader collection, const NetShape &shape)
{
  const auto list = [](JsonReader &reader, const char *key, std::size_t size) -> const json & {
    const json *items = reader.find(key);
    if (!items || !items->is_array() || items->size() != size)
      reader.expected(key, "a list of " + std::to_string(size));
    return *items;
  };
  const json &networks = list(collection, "networks", shape.count);
  for (std::size_t net = 0; net < networks.size(); ++net) {
    JsonReader network(networks[net], collection.file(),
                       collection.path("networks/" + std::to_string(net)));
    const json &layers = list(network, "layers", shape.neuron.size() + shape.output_layer);
    for (std::size_t k = 0; k < layers.size(); ++k)
      check_layer(
          JsonReader(layers[k], network.file(), network.path("layers/" + std::to_string(k))), shape,
          k);
  }
}

/// All weights in the order of parameter_index(), whose names are places in the tree.
std::vector<double> read_parameters(const Hdf5File &file, const json &tree, const std::string &path,
                                    const ModelConfig &config)
{
  std::vector<double> parameters;
  for (const auto &block : parameter_index(config)) {
    const auto slash = block.name.rfind('/');
    JsonReader variables(tree.at(json::json_pointer(block.name.substr(0, slash))), path,
                         block.name.substr(1, slash - 1));
    const auto values = variable(file, variables, block.name.substr(slash + 1), block.shape);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  return parameters;
}

void check_all_networks(JsonReader &descriptor, JsonReader &fitting, const ModelConfig &config)
{
  const std::size_t ntypes = config.type_map.size();
  check_networks(descriptor.section("embeddings"),
                 {config.type_one_side ? ntypes : ntypes * ntypes, 1, config.neuron,
                  config.activation, config.resnet_dt, false});
  check_networks(fitting.section("nets"),
                 {ntypes, config.neuron.back() * config.axis_neuron, config.fitting_neuron,
                  config.fitting_activation, config.fitting_resnet_dt, true});
}

/// The section `model`, checked to be a model of the kind that this version reads.
JsonReader open_model(JsonReader &root)
{
  if (!root.has("model"))
    root.fail("model", "missing: the file is an HDF5 file, but not a model of DeePMD-kit");
  JsonReader model = root.section("model");
  if (model.has("model_dict"))
    model.fail("model_dict", "multi-task models are not supported; freeze one head of the model");
  const std::string type = model.text("type", "standard");
  if (type != "standard")
    model.fail("type", "model type \"" + type + "\" is not supported" + only_model);
  check_version(model, 2, 2);
  for (const char *part : {"descriptor", "fitting"})
    if (!model.has(part)) model.expected(part, "an object { ... }");
  return model;
}

}  // namespace

ModelData read_model_tree(const Hdf5File &file, const std::string &path)
{
  const auto text = file.read_text("/", "json");
  if (!text)
    throw Error(path + ": an HDF5 file, but not a model of DeePMD-kit (it has no attribute 'json')"
                       "; expected a .dp file");
  const json tree = parse_json(*text, path + " (attribute 'json')");
  JsonReader root(tree, path);
  JsonReader model = open_model(root);
  ModelData data;
  ModelConfig &config = data.config;
  read_type_keys(model, config);
  JsonReader descriptor = model.section("descriptor");
  JsonReader fitting = model.section("fitting");
  read_descriptor(descriptor, config);
  read_fitting(fitting, config);
  check_all_networks(descriptor, fitting, config);

  const int ntypes = config.ntypes();
  JsonReader moments = descriptor.section("@variables");
  data.davg = read_moments(file, moments, "davg", config);
  data.dstd = read_moments(file, moments, "dstd", config);
  check_moments(moments, data);
  JsonReader model_variables = model.section("@variables");
  data.out_bias = bias(file, model_variables, "out_bias", {1, ntypes, 1}, ntypes);
  JsonReader fitting_variables = fitting.section("@variables");
  data.bias_atom_e = bias(file, fitting_variables, "bias_atom_e", {ntypes, 1}, ntypes);
  data.parameters = read_parameters(file, tree, path, config);

  JsonReader extra = root.section("@variables");
  const auto distance = find_variable(file, extra, "min_nbor_dist");
  if (distance && distance->values.size() == 1) data.min_nbor_dist = distance->values[0];
  if (const auto values = find_variable(file, extra, "dptrain_whitening"))
    data.whitening = values->values;
  const std::size_t features = config.fitting_neuron.empty()
                                   ? config.neuron.back() * config.axis_neuron
                                   : config.fitting_neuron.back();
  if (!data.whitening.empty() && data.whitening.size() != ntypes * features * features)
    throw Error(path + ": damaged: dptrain_whitening has " + std::to_string(data.whitening.size()) +
                " numbers, the model needs " + std::to_string(ntypes * features * features));
  if (const auto values = find_variable(file, extra, "dptrain_calibration"))
    data.calibration = values->values;
  const json *script = root.find("model_def_script");
  data.model_def_script = script ? script->dump() : "{}";
  return data;
}

}  // namespace dptrain
