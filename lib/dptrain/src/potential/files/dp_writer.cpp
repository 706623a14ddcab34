#include <cstdio>

#include <nlohmann/json.hpp>

#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "input/json_reader.h"
#include "potential/files/dp_format.h"

namespace dptrain {

namespace {

using Tree = nlohmann::ordered_json;

/// Writes arrays under the names that DeePMD-kit uses: /variable_0000, /variable_0001, ...
class Variables {
 public:
  explicit Variables(Hdf5File &file) : file_(file) {}
  /// Returns the name to put into the tree.
  std::string add(const double *values, const std::vector<std::int64_t> &shape, bool single)
  {
    char name[32];
    std::snprintf(name, sizeof name, "/variable_%04d", count_++);
    file_.write_array(name, values, shape, single);
    return name;
  }

 private:
  Hdf5File &file_;
  int count_ = 0;
};

/// One collection of nets of equal shape; the weights are taken from the blocks in order.
struct NetWriter {
  Variables &variables;
  const std::vector<ParameterBlock> &blocks;
  const double *parameters;
  std::size_t next = 0;

  std::string add_block(bool single)
  {
    const auto &block = blocks.at(next++);
    return variables.add(parameters + block.offset, block.shape, single);
  }

  /// The layer whose weights come next.
  Tree layer(const std::string &activation, bool hidden, const std::string &precision)
  {
    const bool single = precision == "float32";
    const bool trainable = blocks.at(next).trainable;
    const bool idt =
        next + 2 < blocks.size() &&
        blocks[next + 2].name.compare(blocks[next + 2].name.size() - 4, 4, "/idt") == 0;
    Tree arrays;
    arrays["w"] = add_block(single);
    arrays["b"] = add_block(single);
    arrays["idt"] = nullptr;
    if (idt) arrays["idt"] = add_block(single);
    return {{"@class", "Layer"},
            {"@version", 2},
            {"bias", true},
            {"use_timestep", idt},
            {"activation_function", activation},
            {"resnet", hidden},
            {"precision", precision},
            {"trainable", trainable},
            {"@variables", arrays}};
  }
};

Tree collection(const char *kind, int ndim, int ntypes, Tree networks)
{
  return {{"@class", "NetworkCollection"},
          {"@version", 1},
          {"ndim", ndim},
          {"ntypes", ntypes},
          {"network_type", kind},
          {"networks", std::move(networks)}};
}

Tree embedding_nets(NetWriter &writer, const ModelConfig &config)
{
  Tree networks = Tree::array();
  const int ntypes = config.ntypes();
  const int count = config.type_one_side ? ntypes : ntypes * ntypes;
  for (int net = 0; net < count; ++net) {
    Tree layers = Tree::array();
    for (std::size_t k = 0; k < config.neuron.size(); ++k)
      layers.push_back(writer.layer(config.activation, true, config.precision));
    networks.push_back({{"@class", "EmbeddingNetwork"},
                        {"@version", 2},
                        {"in_dim", 1},
                        {"neuron", config.neuron},
                        {"activation_function", config.activation},
                        {"resnet_dt", config.resnet_dt},
                        {"bias", true},
                        {"precision", config.precision},
                        {"layers", layers}});
  }
  return collection("embedding_network", config.type_one_side ? 1 : 2, ntypes, networks);
}

Tree fitting_nets(NetWriter &writer, const ModelConfig &config)
{
  Tree networks = Tree::array();
  for (int net = 0; net < config.ntypes(); ++net) {
    Tree layers = Tree::array();
    for (std::size_t k = 0; k < config.fitting_neuron.size(); ++k)
      layers.push_back(writer.layer(config.fitting_activation, true, config.fitting_precision));
    layers.push_back(writer.layer("none", false, config.fitting_precision));
    networks.push_back({{"@class", "FittingNetwork"},
                        {"@version", 1},
                        {"in_dim", config.neuron.back() * config.axis_neuron},
                        {"out_dim", 1},
                        {"neuron", config.fitting_neuron},
                        {"activation_function", config.fitting_activation},
                        {"resnet_dt", config.fitting_resnet_dt},
                        {"precision", config.fitting_precision},
                        {"bias_out", true},
                        {"layers", layers}});
  }
  return collection("fitting_network", 1, config.ntypes(), networks);
}

/// davg or dstd with the same four numbers in each of the sum(sel) slots.
std::string moments(Variables &variables, const std::vector<double> &values,
                    const ModelConfig &config)
{
  int slots = 0;
  for (const int count : config.sel) slots += count;
  std::vector<double> full;
  for (int type = 0; type < config.ntypes(); ++type)
    for (int slot = 0; slot < slots; ++slot)
      full.insert(full.end(), values.begin() + type * 4, values.begin() + type * 4 + 4);
  return variables.add(full.data(), {config.ntypes(), slots, 4}, config.precision == "float32");
}

Tree descriptor(NetWriter &writer, const ModelData &data)
{
  const ModelConfig &config = data.config;
  Tree tree{{"@class", "Descriptor"},
            {"type", "se_e2_a"},
            {"@version", 2},
            {"rcut", config.rcut},
            {"rcut_smth", config.rcut_smth},
            {"sel", config.sel},
            {"neuron", config.neuron},
            {"axis_neuron", config.axis_neuron},
            {"resnet_dt", config.resnet_dt},
            {"trainable", config.trainable},
            {"type_one_side", config.type_one_side},
            {"exclude_types", config.exclude_types},
            {"env_protection", config.env_protection},
            {"set_davg_zero", config.set_davg_zero},
            {"activation_function", config.activation},
            {"precision", config.precision},
            {"spin", nullptr}};
  tree["env_mat"] = {{"rcut", config.rcut},
                     {"rcut_smth", config.rcut_smth},
                     {"protection", config.env_protection},
                     {"use_exp_switch", false}};
  tree["embeddings"] = embedding_nets(writer, config);
  tree["@variables"] = {{"davg", moments(writer.variables, data.davg, config)},
                        {"dstd", moments(writer.variables, data.dstd, config)}};
  tree["type_map"] = config.type_map;
  return tree;
}

Tree fitting(NetWriter &writer, const ModelData &data)
{
  const ModelConfig &config = data.config;
  std::vector<bool> trainable = config.fitting_trainable;
  if (trainable.empty()) trainable.assign(config.fitting_neuron.size() + 1, true);
  Tree atom_ener;  // null without
  for (const auto &energy : config.atom_ener) atom_ener.push_back(energy ? Tree(*energy) : Tree());
  Tree tree{{"@class", "Fitting"},
            {"type", "ener"},
            {"@version", 4},
            {"var_name", "energy"},
            {"ntypes", config.ntypes()},
            {"dim_descrpt", config.neuron.back() * config.axis_neuron},
            {"dim_out", 1},
            {"neuron", config.fitting_neuron},
            {"resnet_dt", config.fitting_resnet_dt},
            {"numb_fparam", 0},
            {"numb_aparam", 0},
            {"dim_case_embd", 0},
            {"default_fparam", nullptr},
            {"rcond", nullptr},
            {"activation_function", config.fitting_activation},
            {"precision", config.fitting_precision},
            {"mixed_types", false},
            {"exclude_types", config.atom_exclude_types},
            {"type_map", config.type_map},
            {"tot_ener_zero", false},
            {"trainable", trainable},
            {"layer_name", nullptr},
            {"use_aparam_as_mask", false},
            {"spin", nullptr},
            {"atom_ener", atom_ener}};
  tree["nets"] = fitting_nets(writer, config);
  tree["@variables"] = {
      {"bias_atom_e", writer.variables.add(data.bias_atom_e.data(), {config.ntypes(), 1}, false)},
      {"case_embd", nullptr},
      {"fparam_avg", nullptr},
      {"fparam_inv_std", nullptr},
      {"aparam_avg", nullptr},
      {"aparam_inv_std", nullptr}};
  return tree;
}

/// The user's section `model`, with sel as the model has it. DeePMD-kit cannot do without.
Tree definition(const ModelData &data)
{
  const ModelConfig &config = data.config;
  Tree script = Tree::object();
  if (!data.model_def_script.empty()) {
    script = parse_json(data.model_def_script, "model_def_script");
    if (!script.is_object()) throw Error("model_def_script: expected an object { ... }");
  }
  if (!script.contains("type_map")) script["type_map"] = config.type_map;
  Tree &part = script["descriptor"];
  if (!part.is_object())
    part = {{"type", "se_e2_a"},
            {"rcut", config.rcut},
            {"rcut_smth", config.rcut_smth},
            {"neuron", config.neuron},
            {"axis_neuron", config.axis_neuron},
            {"activation_function", config.activation},
            {"resnet_dt", config.resnet_dt},
            {"type_one_side", config.type_one_side},
            {"precision", config.precision},
            {"exclude_types", config.exclude_types},
            {"env_protection", config.env_protection},
            {"set_davg_zero", config.set_davg_zero}};
  part["sel"] = config.sel;
  Tree &net = script["fitting_net"];
  if (!net.is_object())
    net = {{"type", "ener"},
           {"neuron", config.fitting_neuron},
           {"activation_function", config.fitting_activation},
           {"resnet_dt", config.fitting_resnet_dt},
           {"precision", config.fitting_precision}};
  return script;
}

/// Sizes that do not fit each other would give a file that nobody can read.
void check_sizes(const ModelData &data, const std::vector<ParameterBlock> &blocks)
{
  const std::size_t ntypes = data.config.type_map.size();
  const auto check = [](const char *name, std::size_t found, std::size_t expected) {
    if (found != expected)
      throw Error(std::string("cannot write the model: ") + name + " has " + std::to_string(found) +
                  " numbers, expected " + std::to_string(expected));
  };
  check("sel", data.config.sel.size(), ntypes);
  check("davg", data.davg.size(), 4 * ntypes);
  check("dstd", data.dstd.size(), 4 * ntypes);
  check("out_bias", data.out_bias.size(), ntypes);
  check("bias_atom_e", data.bias_atom_e.size(), ntypes);
  check("parameters", data.parameters.size(), blocks.back().offset + blocks.back().size);
}

}  // namespace

void write_model_tree(Hdf5File &file, const ModelData &data)
{
  const ModelConfig &config = data.config;
  const auto blocks = parameter_index(config);
  check_sizes(data, blocks);
  Variables variables(file);
  NetWriter writer{variables, blocks, data.parameters.data()};
  const std::int64_t ntypes = config.ntypes();
  // kept in the file, used by no one when energies are evaluated
  const std::vector<double> out_std(config.type_map.size(), 1.0);
  Tree model{{"@class", "Model"},
             {"type", "standard"},
             {"@version", 2},
             {"type_map", config.type_map},
             {"atom_exclude_types", config.atom_exclude_types},
             {"pair_exclude_types", config.pair_exclude_types},
             {"rcond", nullptr},
             {"preset_out_bias", nullptr}};
  model["@variables"] = {{"out_bias", variables.add(data.out_bias.data(), {1, ntypes, 1}, false)},
                         {"out_std", variables.add(out_std.data(), {1, ntypes, 1}, false)}};
  model["descriptor"] = descriptor(writer, data);
  model["fitting"] = fitting(writer, data);
  Tree extra = Tree::object();
  if (data.min_nbor_dist) extra["min_nbor_dist"] = variables.add(&*data.min_nbor_dist, {}, false);
  // of this program only
  const auto add = [&](const char *name, const std::vector<double> &values) {
    const auto size = static_cast<std::int64_t>(values.size());
    if (size > 0) extra[name] = variables.add(values.data(), {size}, false);
  };
  add("dptrain_whitening", data.whitening);
  add("dptrain_calibration", data.calibration);
  const Tree tree{{"software", "dptrain"},
                  {"backend", "dptrain"},
                  {"model", model},
                  {"model_def_script", definition(data)},
                  {"@variables", extra}};
  file.write_text("/", "json", tree.dump());
}

}  // namespace dptrain
