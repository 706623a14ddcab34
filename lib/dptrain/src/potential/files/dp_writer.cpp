#include "base/advice.h"

#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "input/term_keys.h"
#include "potential/descriptor/descriptor_type.h"
#include "potential/files/dp_format.h"
#include "potential/files/stored_bars.h"
#include "potential/native/fitting_shape.h"
#include "potential/nets/network_tree.h"
#include <fmt/format.h>

namespace dptrain {

namespace {

Tree fitting(TreeWriter &writer, const ModelData &data, const std::vector<ParameterBlock> &blocks)
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
            {"dim_descrpt", config.descriptor->size()},
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
  CollectionHeader header;
  header.kind = "fitting_network";
  header.dimensions = 1;
  header.ntypes = config.ntypes();
  header.precision = config.fitting_precision;
  header.net = {{"@class", "FittingNetwork"},
                {"@version", 1},
                {"in_dim", config.descriptor->size()},
                {"out_dim", 1},
                {"neuron", config.fitting_neuron},
                {"activation_function", config.fitting_activation},
                {"resnet_dt", config.fitting_resnet_dt},
                {"precision", config.fitting_precision},
                {"bias_out", true}};
  tree["nets"] = write_networks(writer, header, fitting_networks_name, config.ntypes(),
                                fitting_shape(config), blocks, data.parameters);
  tree["@variables"] = {
      {"bias_atom_e", writer.add(data.bias_atom_e.data(), {config.ntypes(), 1}, false)},
      {"case_embd", nullptr},
      {"fparam_avg", nullptr},
      {"fparam_inv_std", nullptr},
      {"aparam_avg", nullptr},
      {"aparam_inv_std", nullptr}};
  return tree;
}

/// The user's section `model`, with what statistics have found.
Tree definition(const ModelData &data)
{
  const ModelConfig &config = data.config;
  Tree script = Tree::object();
  if (!data.model_def_script.empty()) {
    script = parse_json(data.model_def_script, "model_def_script");
    if (!script.is_object()) throw Error("model_def_script: expected an object { ... }");
  }
  if (!script.contains("type_map")) script["type_map"] = config.type_map;
  if (!config.baseline.empty()) script["baseline"] = Tree::parse(text_of(config.baseline));
  script.erase("terms");  // charges may have been searched, and none found
  if (!config.terms.empty()) script["terms"] = written_terms(config.terms);
  Tree &part = script["descriptor"];
  if (!part.is_object()) part = Tree::parse(config.descriptor->keys(config));
  descriptor_type(config).complete_definition(config, part);
  Tree &net = script["fitting_net"];
  if (!net.is_object())
    net = {{"type", "ener"},
           {"neuron", config.fitting_neuron},
           {"activation_function", config.fitting_activation},
           {"resnet_dt", config.fitting_resnet_dt},
           {"precision", config.fitting_precision}};
  return script;
}

/// The settings of the terms, with their parameters.
Tree terms_section(TreeWriter &writer, const ModelData &data,
                   const std::vector<ParameterBlock> &blocks)
{
  Tree section = written_terms(data.config.terms);
  const std::string place = "/model/terms";
  const bool single = data.config.fitting_precision == "float32";
  for (const auto &block : blocks)
    if (block.name.starts_with(place + "/"))
      section[Tree::json_pointer(block.name.substr(place.size()))] =
          writer.add(data.parameters.data() + block.offset, block.shape, single);
  return section;
}

/// A program that reads earlier versions only would leave out what the later ones have.
int version_of(const ModelConfig &config)
{
  if (!config.terms.empty()) return version_with_terms;
  return config.baseline.empty() ? version_of_deepmd : version_with_baseline;
}

/// Sizes that do not fit each other would give a file that nobody can read.
void check_sizes(const ModelData &data, const std::vector<ParameterBlock> &blocks)
{
  const std::size_t ntypes = data.config.type_map.size();
  const auto check = [](const char *name, std::size_t found, std::size_t expected) {
    if (found != expected)
      throw internal_error(fmt::format("cannot write the model: {} has {} numbers, expected {}",
                                       name, found, expected));
  };
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
  TreeWriter writer(file);
  const std::int64_t ntypes = config.ntypes();
  // kept in the file, used by no one when energies are evaluated
  const std::vector<double> out_std(config.type_map.size(), 1.0);
  Tree model{{"@class", "Model"},
             {"type", "standard"},
             {"@version", version_of(config)},
             {"type_map", config.type_map},
             {"atom_exclude_types", config.atom_exclude_types},
             {"pair_exclude_types", config.pair_exclude_types},
             {"rcond", nullptr},
             {"preset_out_bias", nullptr}};
  model["@variables"] = {{"out_bias", writer.add(data.out_bias.data(), {1, ntypes, 1}, false)},
                         {"out_std", writer.add(out_std.data(), {1, ntypes, 1}, false)}};
  if (!config.baseline.empty()) model["baseline"] = Tree::parse(text_of(config.baseline));
  if (!config.terms.empty()) model["terms"] = terms_section(writer, data, blocks);
  model["descriptor"] = descriptor_type(config).write(writer, data, blocks);
  model["fitting"] = fitting(writer, data, blocks);
  Tree extra = Tree::object();
  if (data.min_nbor_dist) extra["min_nbor_dist"] = writer.add(&*data.min_nbor_dist, {}, false);
  // of this program only
  if (!data.walls.empty()) {
    extra["dptrain_walls"] = writer.add(data.walls.begin.values().data(), {ntypes, ntypes}, false);
    extra["dptrain_wall_strength"] =
        writer.add(data.walls.strength.data(), {ntypes, ntypes}, false);
  }
  write_bars(file, "", data);
  const Tree tree{{"software", "dptrain"},
                  {"backend", "dptrain"},
                  {"model", model},
                  {"model_def_script", definition(data)},
                  {"@variables", extra}};
  file.write_text("/", "json", tree.dump());
}

}  // namespace dptrain
