#include "potential/descriptor/se_e2_a_type.h"

#include <algorithm>
#include <fmt/format.h>

#include "dptrain/base/error.h"
#include "potential/descriptor/se_e2_a.h"
#include "potential/nets/network_tree.h"

namespace dptrain {

namespace {

const std::string embeddings = "/model/descriptor/embeddings";

NetworkShape embedding_shape(const SeE2AConfig &config)
{
  NetworkShape shape;
  shape.hidden = config.neuron;
  shape.activation = config.activation;
  shape.resnet_dt = config.resnet_dt;
  return shape;
}

int num_embeddings(const ModelConfig &model)
{
  return se_e2_a(model).type_one_side ? model.ntypes() : model.ntypes() * model.ntypes();
}

int num_slots(const ModelConfig &model)
{
  int slots = 0;
  for (const int count : se_e2_a(model).sel) slots += count;
  return slots;
}

/// davg or dstd with the same four numbers in each of the sum(sel) slots.
std::string write_moments(TreeWriter &writer, const std::vector<double> &values,
                          const ModelConfig &model)
{
  const int slots = num_slots(model);
  std::vector<double> full;
  for (int type = 0; type < model.ntypes(); ++type)
    for (int slot = 0; slot < slots; ++slot)
      full.insert(full.end(), values.begin() + type * 4, values.begin() + type * 4 + 4);
  return writer.add(full.data(), {model.ntypes(), slots, 4},
                    model.descriptor->precision == "float32");
}

/// davg or dstd: [ntypes][nnei][4] in the file, [ntypes][4] here. All slots must be equal.
std::vector<double> read_moments(TreeReader &reader, JsonReader &variables, const char *name,
                                 const ModelConfig &model)
{
  const std::size_t ntypes = model.type_map.size(), slots = num_slots(model);
  const auto full = reader.array(variables, name, {std::int64_t(ntypes), std::int64_t(slots), 4});
  std::vector<double> moments(ntypes * 4);
  for (std::size_t type = 0; type < ntypes; ++type) {
    const double *first = full.data() + type * slots * 4;
    for (std::size_t slot = 1; slot < slots; ++slot)
      if (!std::equal(first, first + 4, first + slot * 4))
        variables.fail(name, fmt::format("differs between the neighbor slots of type {}; this "
                                         "version needs one set of values per center type",
                                         model.type_map[type]));
    std::copy(first, first + 4, moments.begin() + type * 4);
  }
  return moments;
}

void check_moments(const JsonReader &variables, const std::vector<double> &davg,
                   const std::vector<double> &dstd)
{
  for (std::size_t type = 0; type < davg.size() / 4; ++type) {
    const double *mean = &davg[type * 4];
    const double *deviation = &dstd[type * 4];
    if (mean[1] != 0.0 || mean[2] != 0.0 || mean[3] != 0.0)
      variables.fail("davg", "the mean of the angular columns must be 0 (rotational invariance)");
    if (deviation[1] != deviation[2] || deviation[2] != deviation[3])
      variables.fail("dstd", "the three angular columns must be equal (rotational invariance)");
    if (!(deviation[0] > 0.0 && deviation[1] > 0.0)) variables.fail("dstd", "must be positive");
  }
}

/// Sizes that do not fit each other would give a file that nobody can read.
void check_sizes(const ModelData &data)
{
  const std::size_t ntypes = data.config.type_map.size();
  const auto check = [](const char *name, std::size_t found, std::size_t expected) {
    if (found != expected)
      throw Error(fmt::format("cannot write the model: {} has {} numbers, expected {}", name, found,
                              expected));
  };
  check("sel", se_e2_a(data.config).sel.size(), ntypes);
  for (const char *name : {"davg", "dstd"})
    check(name, data.descriptor_constants.at(name).size(), 4 * ntypes);
}

}  // namespace

std::unique_ptr<DescriptorConfig> SeE2AType::make_config() const
{
  return std::make_unique<SeE2AConfig>();
}

// Pairs of types whose rows are zero, whichever list excludes them (as in DeePMD-kit).
StatisticsSettings SeE2AType::statistics(const ModelConfig &model) const
{
  const SeE2AConfig &config = se_e2_a(model);
  StatisticsSettings settings{model.rcut, config.rcut_smth, config.env_protection, config.sel,
                              config.exclude_types};
  settings.excluded.insert(settings.excluded.end(), model.pair_exclude_types.begin(),
                           model.pair_exclude_types.end());
  return settings;
}

void SeE2AType::complete(ModelConfig &model, const Statistics &found, double margin) const
{
  SeE2AConfig &config = se_e2_a(model);
  if (config.sel.empty()) config.sel = found.recommended_sel(config.sel_factor.value_or(margin));
}

// With a mean that is not zero an atom alone would not have the energy that the input gives it.
DescriptorConstants SeE2AType::constants(const ModelConfig &model, const Statistics &found) const
{
  const SeE2AConfig &config = se_e2_a(model);
  const bool set_zero = config.set_davg_zero || !model.atom_ener.empty();
  return {{"davg", found.davg(config.sel, set_zero)}, {"dstd", found.dstd(config.sel)}};
}

bool SeE2AType::is_zero_alone(const ModelData &data) const
{
  const std::vector<double> &davg = data.descriptor_constants.at("davg");
  return std::all_of(davg.begin(), davg.end(), [](double mean) { return mean == 0.0; });
}

void SeE2AType::add_blocks(const ModelConfig &model, std::vector<ParameterBlock> &blocks) const
{
  const NetworkShape shape = embedding_shape(se_e2_a(model));
  const std::vector<bool> trainable(shape.num_layers(), model.descriptor->trainable);
  add_network_blocks(embeddings, num_embeddings(model), shape, trainable, blocks);
}

void SeE2AType::draw(const ModelConfig &, const ParameterBlock &block, RandomEngine &engine,
                     double *values) const
{
  draw_weights(block, engine, values);
}

std::unique_ptr<Descriptor<double>> SeE2AType::make_double(const ModelData &data) const
{
  return std::make_unique<SeE2A<double>>(data);
}

std::unique_ptr<Descriptor<float>> SeE2AType::make_single(const ModelData &data) const
{
  return std::make_unique<SeE2A<float>>(data);
}

std::vector<Mlp> SeE2AType::nets(const ModelConfig &model)
{
  std::vector<ParameterBlock> blocks;
  SeE2AType().add_blocks(model, blocks);
  return networks(embeddings, num_embeddings(model), embedding_shape(se_e2_a(model)), blocks);
}

Tree SeE2AType::write(TreeWriter &writer, const ModelData &data,
                      const std::vector<ParameterBlock> &blocks) const
{
  check_sizes(data);
  const SeE2AConfig &config = se_e2_a(data.config);
  Tree section{{"@class", "Descriptor"}, {"@version", 2}};
  section.update(Tree::parse(config.keys(data.config)));
  section.erase("seed");  // DeePMD-kit does not keep it
  section["spin"] = nullptr;
  section["env_mat"] = {{"rcut", data.config.rcut},
                        {"rcut_smth", config.rcut_smth},
                        {"protection", config.env_protection},
                        {"use_exp_switch", false}};
  CollectionHeader header;
  header.kind = "embedding_network";
  header.dimensions = config.type_one_side ? 1 : 2;
  header.ntypes = data.config.ntypes();
  header.precision = config.precision;
  header.net = {{"@class", "EmbeddingNetwork"},
                {"@version", 2},
                {"in_dim", 1},
                {"neuron", config.neuron},
                {"activation_function", config.activation},
                {"resnet_dt", config.resnet_dt},
                {"bias", true},
                {"precision", config.precision}};
  section["embeddings"] = write_networks(writer, header, embeddings, num_embeddings(data.config),
                                         embedding_shape(config), blocks, data.parameters);
  const DescriptorConstants &constants = data.descriptor_constants;
  section["@variables"] = {{"davg", write_moments(writer, constants.at("davg"), data.config)},
                           {"dstd", write_moments(writer, constants.at("dstd"), data.config)}};
  section["type_map"] = data.config.type_map;
  return section;
}

void SeE2AType::read(TreeReader &reader, JsonReader &section, ModelData &data) const
{
  if (section.has("compress") || section.integer("@version", 1) == 3)
    section.fail("@version", "the model is compressed (tables instead of embedding nets); use the "
                             "model from before dp compress");
  check_version(section, 1, 2);
  section.only("spin", nullptr, "spin models");
  JsonReader env_mat = section.section("env_mat");
  env_mat.only("use_exp_switch", false, "the exponential switch function");
  // defaults of DeePMD-kit's class, which differ from those of its input file
  SeE2AConfig &config = se_e2_a(data.config);
  config.neuron = {24, 48, 96};
  config.axis_neuron = 8;
  config.type_one_side = true;
  config.env_protection = env_mat.number("protection", 0.0);
  for (const char *key : {"rcut", "rcut_smth", "sel"})
    if (!section.has(key)) section.expected(key, "a value");
  config.read(section, data.config);
  if (config.sel.empty()) section.expected("sel", "a list of integers");
  check_networks(section.section("embeddings"), num_embeddings(data.config),
                 embedding_shape(config));
  JsonReader variables = section.section("@variables");
  auto &davg = data.descriptor_constants["davg"], &dstd = data.descriptor_constants["dstd"];
  davg = read_moments(reader, variables, "davg", data.config);
  dstd = read_moments(reader, variables, "dstd", data.config);
  check_moments(variables, davg, dstd);
}

// DeePMD-kit cannot do without sel.
void SeE2AType::complete_definition(const ModelConfig &model, Tree &section) const
{
  section["sel"] = se_e2_a(model).sel;
}

}  // namespace dptrain
