// DeePMD-kit's .dp file: reading what DeePMD-kit wrote, writing, and every way to be a wrong file.
// All comparisons are exact: a file must give back the bits that went into it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "support/edited_model.h"
#include "support/npy_array.h"
#include "support/scratch.h"
#include "support/tiny_model.h"

namespace dptrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::expect_in;
using test::message_of;
using test::OpenModel;
using test::read_npy;
using test::Scratch;

/// Models made by DeePMD-kit: those of the repository, and further ones if there are any.
std::vector<fs::path> reference_models()
{
  std::vector<fs::path> found;
  std::vector<fs::path> folders{DPTRAIN_TEST_DATA};
  if (const char *shared = std::getenv("DPTRAIN_SHARED"))
    folders.push_back(fs::path(shared) / "cases");
  for (const auto &folder : folders)
    if (fs::is_directory(folder))
      for (const auto &item : fs::recursive_directory_iterator(folder))
        if (item.path().filename() == "model.dp") found.push_back(item.path());
  std::sort(found.begin(), found.end());
  return found;
}

void expect_same(const ModelData &a, const ModelData &b)
{
  const ModelConfig &c = a.config, &d = b.config;
  EXPECT_EQ(c.type_map, d.type_map);
  EXPECT_EQ(c.rcut, d.rcut);
  EXPECT_EQ(se_e2_a(c).rcut_smth, se_e2_a(d).rcut_smth);
  EXPECT_EQ(se_e2_a(c).sel, se_e2_a(d).sel);
  EXPECT_EQ(se_e2_a(c).neuron, se_e2_a(d).neuron);
  EXPECT_EQ(se_e2_a(c).axis_neuron, se_e2_a(d).axis_neuron);
  EXPECT_EQ(se_e2_a(c).activation, se_e2_a(d).activation);
  EXPECT_EQ(se_e2_a(c).resnet_dt, se_e2_a(d).resnet_dt);
  EXPECT_EQ(se_e2_a(c).type_one_side, se_e2_a(d).type_one_side);
  EXPECT_EQ(se_e2_a(c).exclude_types, se_e2_a(d).exclude_types);
  EXPECT_EQ(se_e2_a(c).env_protection, se_e2_a(d).env_protection);
  EXPECT_EQ(se_e2_a(c).set_davg_zero, se_e2_a(d).set_davg_zero);
  EXPECT_EQ(se_e2_a(c).precision, se_e2_a(d).precision);
  EXPECT_EQ(se_e2_a(c).trainable, se_e2_a(d).trainable);
  EXPECT_EQ(c.fitting_neuron, d.fitting_neuron);
  EXPECT_EQ(c.fitting_activation, d.fitting_activation);
  EXPECT_EQ(c.fitting_resnet_dt, d.fitting_resnet_dt);
  EXPECT_EQ(c.fitting_precision, d.fitting_precision);
  EXPECT_EQ(c.fitting_trainable, d.fitting_trainable);
  EXPECT_EQ(c.atom_ener, d.atom_ener);
  EXPECT_EQ(c.pair_exclude_types, d.pair_exclude_types);
  EXPECT_EQ(c.atom_exclude_types, d.atom_exclude_types);
  EXPECT_EQ(a.descriptor_constants, b.descriptor_constants);
  EXPECT_EQ(a.out_bias, b.out_bias);
  EXPECT_EQ(a.bias_atom_e, b.bias_atom_e);
  EXPECT_EQ(a.min_nbor_dist, b.min_nbor_dist);
  EXPECT_EQ(a.parameters, b.parameters);
}

TEST(DpFile, ReadsAndRewritesModelsOfDeepmd)
{
  const auto models = reference_models();
  ASSERT_GE(models.size(), 20u);
  const Scratch scratch;
  for (const auto &path : models) {
    SCOPED_TRACE(path.parent_path().filename().string());
    const ModelData data = read_dp(path.string());
    write_dp(scratch / "copy.dp", data);
    const ModelData copy = read_dp(scratch / "copy.dp");
    expect_same(data, copy);
    EXPECT_EQ(json::parse(data.model_def_script), json::parse(copy.model_def_script));
  }
}

TEST(DpFile, ParametersAreInTheOrderOfTheReference)
{
  int cases = 0;
  for (const auto &path : reference_models()) {
    const fs::path folder = path.parent_path();
    if (!fs::exists(folder / "params_index.json")) continue;
    SCOPED_TRACE(folder.filename().string());
    ++cases;
    const ModelData data = read_dp(path.string());
    const auto blocks = parameter_index(data.config);
    std::ifstream stream(folder / "params_index.json");
    const json expected = json::parse(stream);
    ASSERT_EQ(blocks.size(), expected.size());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      EXPECT_EQ(blocks[k].name, expected[k]["path"]);
      EXPECT_EQ(json(blocks[k].shape), expected[k]["shape"]);
      EXPECT_EQ(blocks[k].offset, expected[k]["offset"]);
      EXPECT_EQ(blocks[k].size, expected[k]["size"]);
    }
    EXPECT_EQ(data.parameters, read_npy((folder / "params_0.npy").string()).values);
  }
  EXPECT_GE(cases, 3);
}

/// A model in which everything differs from the defaults.
ModelData unusual_model()
{
  ModelConfig config = test::tiny_config(3);
  se_e2_a(config).type_one_side = false;
  se_e2_a(config).neuron = {2, 4, 4};
  se_e2_a(config).axis_neuron = 4;
  se_e2_a(config).resnet_dt = true;
  se_e2_a(config).activation = "silut:2.5";
  se_e2_a(config).exclude_types = {{0, 1}};
  se_e2_a(config).env_protection = 0.01;
  se_e2_a(config).trainable = false;
  config.fitting_neuron = {8, 8, 16};
  config.fitting_activation = "gelu";
  config.fitting_trainable = {true, false, true, true};
  config.atom_ener = {-1.0, std::nullopt, 0.1};
  config.pair_exclude_types = {{2, 2}};
  config.atom_exclude_types = {1};
  ModelData data = test::tiny_model(config);
  data.min_nbor_dist = 0.7;
  data.model_def_script = R"({"type_map": ["A", "B", "C"], "descriptor": {"sel": "auto"}})";
  return data;
}

TEST(DpFile, KeepsEveryField)
{
  const Scratch scratch;
  const ModelData data = unusual_model();
  write_dp(scratch / "model.dp", data);
  const ModelData copy = read_dp(scratch / "model.dp");
  expect_same(data, copy);
  // DeePMD-kit needs the definition with the final sel
  const json script = json::parse(copy.model_def_script);
  EXPECT_EQ(script["descriptor"]["sel"], json(se_e2_a(data.config).sel));
  EXPECT_EQ(script["type_map"], json(data.config.type_map));
}

TEST(DpFile, EqualModelsGiveEqualBytes)
{
  const Scratch scratch;
  write_dp(scratch / "a.dp", unusual_model());
  write_dp(scratch / "b.dp", unusual_model());
  EXPECT_EQ(read_file(scratch / "a.dp"), read_file(scratch / "b.dp"));
}

TEST(DpFile, Float32WeightsAreStoredAsFloat32)
{
  ModelConfig config = test::tiny_config();
  se_e2_a(config).precision = "float32";
  ModelData data = test::tiny_model(config);
  const Scratch scratch;
  write_dp(scratch / "model.dp", data);
  const ModelData copy = read_dp(scratch / "model.dp");
  const auto blocks = parameter_index(config);
  for (const auto &block : blocks) {
    const bool embedding = block.name.find("embeddings") != std::string::npos;
    for (std::size_t k = block.offset; k < block.offset + block.size; ++k)
      EXPECT_EQ(copy.parameters[k],
                embedding ? double(float(data.parameters[k])) : data.parameters[k]);
  }
  EXPECT_EQ(copy.descriptor_constants.at("davg")[0],
            double(float(data.descriptor_constants.at("davg")[0])));
  EXPECT_EQ(copy.out_bias, data.out_bias);
}

TEST(DpFile, MissingKeysTakeTheDefaultsOfTheClass)
{
  ModelConfig config = test::tiny_config();
  se_e2_a(config).neuron = {24, 48, 96};
  se_e2_a(config).axis_neuron = 8;
  config.fitting_neuron = {120, 120, 120};
  ModelData data = test::tiny_model(config);
  data.min_nbor_dist.reset();
  OpenModel model(data);
  json &descriptor = model.tree["model"]["descriptor"];
  for (const char *key :
       {"neuron", "axis_neuron", "type_one_side", "resnet_dt", "trainable", "exclude_types",
        "env_protection", "set_davg_zero", "activation_function", "precision", "spin", "type_map"})
    descriptor.erase(key);
  descriptor["@version"] = 1;
  json &fitting = model.tree["model"]["fitting"];
  for (const char *key : {"neuron", "resnet_dt", "activation_function", "precision", "trainable",
                          "atom_ener", "dim_case_embd", "default_fparam", "exclude_types"})
    fitting.erase(key);
  fitting["@version"] = 1;
  model.tree["model"].erase("pair_exclude_types");
  model.tree["model"].erase("atom_exclude_types");
  model.tree.erase("@variables");
  const Scratch scratch;
  model.write(scratch / "old.dp");
  expect_same(read_dp(scratch / "old.dp"), data);
}

/// Message for a model file with one thing changed.
std::string message_after(const std::function<void(OpenModel &)> &change)
{
  OpenModel model(test::tiny_model(test::tiny_config()));
  change(model);
  const Scratch scratch;
  model.write(scratch / "model.dp");
  const std::string text = message_of([&] { read_dp(scratch / "model.dp"); });
  expect_in("model.dp", text);
  return text;
}

/// Message after setting the value at a place of the tree.
std::string message_with(const std::string &place, const json &value)
{
  return message_after([&](OpenModel &m) { m.tree[json::json_pointer(place)] = value; });
}

TEST(DpFile, RefusesOtherModelsByName)
{
  expect_in("descriptor \"dpa2\"", message_with("/model/descriptor/type", "dpa2"));
  expect_in("se_e2_a", message_with("/model/descriptor/type", "se_atten"));
  expect_in("fitting \"dipole\"", message_with("/model/fitting/type", "dipole"));
  expect_in("model type \"spin_ener\"", message_with("/model/type", "spin_ener"));
  expect_in("compressed", message_with("/model/descriptor/@version", 3));
  expect_in("compressed", message_with("/model/descriptor/compress", json::object()));
  expect_in("found 4", message_with("/model/descriptor/@version", 4));
  expect_in("found 5", message_with("/model/fitting/@version", 5));
  expect_in("found 1", message_with("/model/@version", 1));
  expect_in("multi-task", message_with("/model/model_dict", json::object()));
  expect_in("spin", message_with("/model/descriptor/spin", {{"use_spin", {true, false}}}));
  expect_in("fparam", message_with("/model/fitting/numb_fparam", 2));
  expect_in("aparam", message_with("/model/fitting/numb_aparam", 1));
  expect_in("case embeddings", message_with("/model/fitting/dim_case_embd", 3));
  expect_in("mixed_types", message_with("/model/fitting/mixed_types", true));
  expect_in("exponential switch", message_with("/model/descriptor/env_mat/use_exp_switch", true));
  expect_in("bfloat16", message_with("/model/descriptor/precision", "bfloat16"));
  expect_in("\"swish\"", message_with("/model/descriptor/activation_function", "swish"));
  expect_in("atom_exclude_types", message_with("/model/fitting/exclude_types", {1}));
  expect_in("layers shared", message_with("/model/fitting/layer_name", {"a", "b", "c"}));
}

TEST(DpFile, RefusesWhatDoesNotFitTogether)
{
  expect_in("one per type", message_with("/model/descriptor/sel", {24}));
  expect_in("descriptor/rcut", message_with("/model/descriptor/rcut", "six"));
  expect_in("smaller than rcut", message_with("/model/descriptor/rcut_smth", 5.0));
  expect_in("a list of 2", message_with("/model/fitting/nets/networks", json::array()));
  expect_in(
      "networks/0/layers/1/activation_function",
      message_with("/model/descriptor/embeddings/networks/0/layers/1/activation_function", "relu"));
  expect_in("resnet", message_with("/model/fitting/nets/networks/1/layers/0/resnet", false));
  expect_in("bias", message_with("/model/fitting/nets/networks/1/layers/0/bias", false));
  const std::string layer = "/model/fitting/nets/networks/1/layers/1/@variables/";
  expect_in("layers/1/@variables/idt: the array is missing", message_with(layer + "idt", nullptr));
  expect_in("layers/1/@variables/w: the array is missing", message_with(layer + "w", nullptr));
  expect_in("'/nowhere'", message_with(layer + "w", "/nowhere"));
  expect_in("expected an array of shape [7,7], found [49]",
            message_after([&](OpenModel &m) { m.at(layer + "w").shape = {49}; }));
  expect_in("not finite", message_after([&](OpenModel &m) { m.at(layer + "b").values[2] = NAN; }));
  expect_in("type_map", message_with("/model/type_map", {"A", "A"}));
  for (const char *key : {"rcut", "sel"})
    expect_in(key, message_after([&](OpenModel &m) { m.tree["model"]["descriptor"].erase(key); }));
  expect_in("fitting", message_after([&](OpenModel &m) { m.tree["model"].erase("fitting"); }));
}

TEST(DpFile, RefusesStatisticsThatBreakTheSymmetry)
{
  const std::string davg = "/model/descriptor/@variables/davg";
  const std::string dstd = "/model/descriptor/@variables/dstd";
  expect_in("differs between the neighbor slots of type B",
            message_after([&](OpenModel &m) { m.at(davg).values[48 * 4 + 20] += 0.1; }));
  expect_in("angular", message_after([&](OpenModel &m) {
              for (std::size_t k = 2; k < m.at(davg).values.size(); k += 4)
                m.at(davg).values[k] = 0.1;
            }));
  expect_in("angular", message_after([&](OpenModel &m) {
              for (std::size_t k = 2; k < m.at(dstd).values.size(); k += 4)
                m.at(dstd).values[k] = 0.1;
            }));
  expect_in("positive", message_after([&](OpenModel &m) {
              for (std::size_t k = 0; k < m.at(dstd).values.size(); k += 4)
                m.at(dstd).values[k] = 0.0;
            }));
}

TEST(DpFile, NamesEachKindOfWrongFile)
{
  const Scratch scratch;
  const auto message = [&](const std::string &content) {
    return message_of([&] { read_dp(scratch.with("file", content)); });
  };
  expect_in("does not exist", message_of([&] { read_dp(scratch / "nothing.dp"); }));
  expect_in("does not exist", message_of([&] { read_dp(scratch / "no/folder.dp"); }));
  expect_in("is a directory", message_of([&] { read_dp(scratch.path()); }));
  expect_in("empty", message(""));
  const std::string archive = message("PK\x03\x04 and so on");
  expect_in("PyTorch archive", archive);
  expect_in("a .dp file is expected", archive);
  expect_in("pickled", message("\x80\x02}q"));
  expect_in("YAML", message("backend: PyTorch\nmodel:\n  '@class': Model\n"));
  expect_in("JSON", message(" {\"model\": {}}"));
  expect_in("looks like text", message("hello\n"));
  expect_in("TensorFlow", message(std::string("\n\x1f\n\x04node\x12\x05\0\x01", 11)));
  expect_in("unknown", message(std::string("\x00\x01\x02\x03", 4)));
}

TEST(DpFile, NamesUnreadableFile)
{
  if (::geteuid() == 0) GTEST_SKIP() << "the super-user may read everything";
  const Scratch scratch;
  const std::string path = scratch.with("model.dp", "x");
  fs::permissions(path, fs::perms::none);
  expect_in("Permission denied", message_of([&] { read_dp(path); }));
}

TEST(DpFile, NamesTruncatedAndForeignHdf5)
{
  const Scratch scratch;
  write_dp(scratch / "model.dp", test::tiny_model(test::tiny_config()));
  const std::string bytes = read_file(scratch / "model.dp");
  for (const std::size_t size :
       {bytes.size() - 1, bytes.size() / 2, std::size_t(100), std::size_t(8)})
    expect_in("truncated",
              message_of([&] { read_dp(scratch.with("cut.dp", bytes.substr(0, size))); }));

  Hdf5File other = Hdf5File::create("other");
  const double number = 1.0;
  other.write_array("/data", &number, {1});
  const std::string path = scratch.with("other.h5", other.bytes());
  expect_in("no attribute 'json'", message_of([&] { read_dp(path); }));
  other.write_text("/", "json", "{\"software\": \"other\"}");
  scratch.with("other.h5", other.bytes());
  expect_in("not a model of DeePMD-kit", message_of([&] { read_dp(path); }));

  Hdf5File broken = Hdf5File::create("broken");
  broken.write_text("/", "json", "{\"model\": ");
  expect_in("not valid JSON", message_of([&] { read_dp(scratch.with("b.dp", broken.bytes())); }));
}

TEST(DpFile, RefusesToWriteAnIncompleteModel)
{
  const Scratch scratch;
  ModelData data = test::tiny_model(test::tiny_config());
  data.parameters.pop_back();
  expect_in("parameters", message_of([&] { write_dp(scratch / "model.dp", data); }));
  data = test::tiny_model(test::tiny_config());
  se_e2_a(data.config).sel.clear();
  expect_in("sel", message_of([&] { write_dp(scratch / "model.dp", data); }));
  data = test::tiny_model(test::tiny_config());
  data.model_def_script = "{";
  expect_in("model_def_script", message_of([&] { write_dp(scratch / "model.dp", data); }));
  EXPECT_FALSE(fs::exists(scratch / "model.dp"));
}

}  // namespace
}  // namespace dptrain
