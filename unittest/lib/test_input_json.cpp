// DeePMD-kit's input.json: defaults, the model, older layouts, and the message for every kind of mistake.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "dptrain/input/config.h"
#include "dptrain/potential/descriptor/se_e2_a_config.h"
#include "support/input.h"

namespace dptrain::test {

TEST(InputJson, HasTheDefaultsOfDeepmd)
{
  const InputFile input = read(json::parse(smallest));
  const ModelConfig &model = input.model;
  EXPECT_EQ(model.type_map, (std::vector<std::string>{"O", "H"}));
  EXPECT_EQ(model.rcut, 6.0);
  EXPECT_EQ(se_e2_a(model).rcut_smth, 0.5);
  EXPECT_TRUE(se_e2_a(model).sel.empty());
  EXPECT_FALSE(se_e2_a(model).sel_factor);
  EXPECT_EQ(se_e2_a(model).neuron, (std::vector<int>{10, 20, 40}));
  EXPECT_EQ(se_e2_a(model).axis_neuron, 4);
  EXPECT_EQ(se_e2_a(model).activation, "tanh");
  EXPECT_FALSE(se_e2_a(model).resnet_dt);
  EXPECT_FALSE(se_e2_a(model).type_one_side);
  EXPECT_EQ(se_e2_a(model).precision, "float64");
  EXPECT_TRUE(se_e2_a(model).trainable);
  EXPECT_FALSE(se_e2_a(model).seed);
  EXPECT_EQ(model.fitting_neuron, (std::vector<int>{120, 120, 120}));
  EXPECT_TRUE(model.fitting_resnet_dt);
  EXPECT_TRUE(model.fitting_trainable.empty());
  EXPECT_TRUE(model.atom_ener.empty());
  const TrainingConfig &training = input.training;
  EXPECT_EQ(training.schedule.type, ScheduleType::exponential);
  EXPECT_EQ(training.schedule.start_lr, 1e-3);
  EXPECT_EQ(training.schedule.stop_lr, 5e-8);
  EXPECT_EQ(training.schedule.decay_steps, 5000);
  EXPECT_FALSE(training.schedule.decay_rate);
  EXPECT_EQ(training.loss.prefactor("e").start, 0.02);
  EXPECT_EQ(training.loss.prefactor("e").limit, 1.0);
  EXPECT_EQ(training.loss.prefactor("f").start, 1000.0);
  EXPECT_EQ(training.loss.prefactor("f").limit, 1.0);
  EXPECT_EQ(training.loss.prefactor("v").start, 0.0);
  EXPECT_EQ(training.optimizer.type, OptimizerType::adam);
  EXPECT_EQ(complete(training.optimizer).beta1, 0.9);
  EXPECT_EQ(complete(training.optimizer).beta2, 0.999);
  EXPECT_EQ(complete(training.optimizer).weight_decay, 0.0);
  EXPECT_EQ(training.ema_decay, 0.0);
  EXPECT_EQ(training.disp_file, "lcurve.out");
  EXPECT_EQ(training.disp_freq, 1000);
  EXPECT_EQ(training.batch_size, 1);
  // comments are not part of the definition that goes into model files
  EXPECT_EQ(json::parse(input.model_def_script),
            json::parse(R"({"type_map": ["O", "H"], "descriptor": {"type": "se_e2_a"},
                            "fitting_net": {}})"));
}

TEST(InputJson, ReadsEveryModelKey)
{
  const InputFile input = read(json::parse(R"({"model": {
    "type": "standard", "type_map": ["Al", "Cu", "Ni"], "data_stat_nbatch": 20,
    "pair_exclude_types": [[0, 0]], "atom_exclude_types": [2],
    "descriptor": {"type": "se_a", "sel": [10, 20, 30], "rcut": 5, "rcut_smth": 1.5,
      "neuron": [4, 8], "n_axis_neuron": 3, "activation_function": "SiLUt:3.0", "resnet_dt": true,
      "type_one_side": true, "precision": "single", "trainable": false, "seed": 7,
      "exclude_types": [[0, 1], [2, 2]], "env_protection": 0.01, "set_davg_zero": true},
    "fitting_net": {"type": "ener", "n_neuron": [16, 32], "activation_function": "relu6",
      "resnet_dt": false, "precision": "float32", "trainable": [true, false, true], "seed": null,
      "atom_ener": [-1.5, null, 0], "numb_fparam": 0, "layer_name": [null, null, null]}}})"));
  const ModelConfig &model = input.model;
  EXPECT_EQ(model.pair_exclude_types, (std::vector<std::array<int, 2>>{{0, 0}}));
  EXPECT_EQ(model.atom_exclude_types, std::vector<int>{2});
  EXPECT_EQ(se_e2_a(model).sel, (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(model.rcut, 5.0);
  EXPECT_EQ(se_e2_a(model).rcut_smth, 1.5);
  EXPECT_EQ(se_e2_a(model).neuron, (std::vector<int>{4, 8}));
  EXPECT_EQ(se_e2_a(model).axis_neuron, 3);
  EXPECT_EQ(se_e2_a(model).activation, "silut:3.0");
  EXPECT_TRUE(se_e2_a(model).resnet_dt);
  EXPECT_TRUE(se_e2_a(model).type_one_side);
  EXPECT_EQ(se_e2_a(model).precision, "float32");
  EXPECT_FALSE(se_e2_a(model).trainable);
  EXPECT_EQ(se_e2_a(model).seed, 7u);
  EXPECT_EQ(se_e2_a(model).exclude_types, (std::vector<std::array<int, 2>>{{0, 1}, {2, 2}}));
  EXPECT_EQ(se_e2_a(model).env_protection, 0.01);
  EXPECT_TRUE(se_e2_a(model).set_davg_zero);
  EXPECT_EQ(model.fitting_neuron, (std::vector<int>{16, 32}));
  EXPECT_EQ(model.fitting_activation, "relu6");
  EXPECT_FALSE(model.fitting_resnet_dt);
  EXPECT_EQ(model.fitting_precision, "float32");
  EXPECT_EQ(model.fitting_trainable, (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(model.fitting_seed);
  EXPECT_EQ(model.atom_ener, (std::vector<std::optional<double>>{-1.5, std::nullopt, 0.0}));
}

TEST(InputJson, NotesKeysWithoutMeaning)
{
  InputFile input = read(json::parse(R"({"model": {"type_map": ["O"], "data_bias_nsample": 20,
      "data_stat_protect": 0.1,
      "srtab_add_bias": true, "info": {"by": "me"},
      "descriptor": {"type": "se_a"}, "fitting_net": {}},
    "learning_rate": {"scale_by_worker": "sqrt"},
    "training": {"tensorboard": true, "tensorboard_freq": 10, "tensorboard_log_dir": "log",
      "profiling": false, "profiling_file": "timeline.json", "zero_stage": 1, "numb_test": 3,
      "stat_file": "s.hdf5", "stat_file_mode": "read",
      "mixed_precision": {"compute_prec": "float16"}, "enable_compile": true},
    "validating": {"tf32_infer": true, "validation_freq": 10}})"));
  std::sort(input.ignored.begin(), input.ignored.end());
  EXPECT_EQ(input.ignored,
            (std::vector<std::string>{"learning_rate/scale_by_worker", "model/data_bias_nsample",
                                      "model/data_stat_protect", "training/enable_compile",
                                      "training/mixed_precision", "training/numb_test",
                                      "training/stat_file", "training/stat_file_mode",
                                      "training/tensorboard", "training/tensorboard_freq",
                                      "training/zero_stage", "validating/tf32_infer"}));
}

TEST(InputJson, ReadsOlderStyles)
{
  // DeePMD-kit 3.1: optimizer and warm-up in `training`
  InputFile input = read(with("/training", json::parse(R"({"opt_type": "AdamW", "adam_beta1": 0.7,
    "warmup_steps": 30, "numb_steps": 100})")));
  EXPECT_EQ(input.training.optimizer.type, OptimizerType::adamw);
  EXPECT_EQ(input.training.optimizer.beta1, 0.7);
  // not the 1e-3 of its manual: DeePMD-kit 3.2 has filled in 0 before that could count
  EXPECT_EQ(complete(input.training.optimizer).weight_decay, 0.0);
  EXPECT_EQ(input.training.schedule.warmup_steps, 30);
  // 1.x: data in `training`
  input = read(with("/training", json::parse(R"({"systems": ["a"], "set_prefix": "set",
    "stop_batch": 200, "batch_size": [1], "numb_test": 10, "disp_training": true})")));
  EXPECT_EQ(input.training.numb_steps, 200);
  EXPECT_EQ(input.offline.training_data.systems, std::vector<std::string>{"a"});
  EXPECT_EQ(input.offline.training_data.batch_size.list, std::vector<int>{1});
  EXPECT_EQ(input.ignored, std::vector<std::string>{"training/numb_test"});
  // where the decay of 1.x ends: 1e-3 * 0.95^(200 / 50)
  json document = with("/training", json::parse(R"({"systems": "a", "stop_batch": 200})"));
  document["learning_rate"] = json::parse(R"({"decay_rate": 0.95, "decay_steps": 50})");
  const ScheduleConfig old = read(document).training.schedule;
  EXPECT_FALSE(old.decay_rate);
  EXPECT_NEAR(old.stop_lr.value(), 8.1450625e-4, 1e-18);
  // 0.x
  document = json::parse(R"({"use_smooth": true, "sel_a": [46, 92], "rcut": 6.0})");
  expect_in("input.json:7:3: use_smooth: this is the layout of DeePMD-kit 0",
            message_of([&] { read(document); }));
  // cosine
  input = read(with("/learning_rate", json::parse(R"({"type": "cosine", "stop_lr": 1e-6})")));
  EXPECT_EQ(input.training.schedule.type, ScheduleType::cosine);
  EXPECT_EQ(input.training.schedule.stop_lr, 1e-6);
}

TEST(InputJson, ReadsInputsOfDeepmdRuns)
{
  const char *shared = std::getenv("DPTRAIN_SHARED");
  if (!shared) GTEST_SKIP() << "DPTRAIN_SHARED is not set";
  int count = 0;
  for (const auto &item :
       std::filesystem::directory_iterator(std::filesystem::path(shared) / "cases")) {
    const std::filesystem::path path = item.path() / "input.json";
    if (!std::filesystem::exists(path)) continue;
    EXPECT_EQ(se_e2_a(read_input(path.string()).model).sel.size(),
              read_input(path.string()).model.type_map.size());
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(InputJson, ReadsAutomaticSel)
{
  const std::string place = "/model/descriptor/sel";
  const ModelConfig with_factor = read(with(place, "auto:1.25")).model,
                    plain = read(with(place, "auto")).model;
  EXPECT_EQ(se_e2_a(with_factor).sel_factor, 1.25);
  EXPECT_TRUE(se_e2_a(with_factor).sel.empty());
  EXPECT_FALSE(se_e2_a(plain).sel_factor);
  for (const char *wrong : {"automatic", "auto:", "auto:x", "auto:1.1x", "auto:nan"})
    expect_in("\"auto:FACTOR\"", message_with(place, wrong));
  expect_in("at least 1", message_with(place, "auto:0.5"));
}

TEST(InputJson, NamesUnknownKeysAndTheNearestKnown)
{
  const auto unknown = [](const std::string &place, const std::string &nearest) {
    const std::string text = message_with(place, 1);
    expect_in("unknown key", text);
    expect_in("\"" + nearest + "\"", text);
  };
  unknown("/lerning_rate", "learning_rate");
  unknown("/model/typemap", "type_map");
  unknown("/model/descriptor/rcut_smooth", "rcut_smth");
  unknown("/model/fitting_net/neurons", "neuron");
  unknown("/learning_rate/start_rl", "start_lr");
  unknown("/loss/start_pref_E", "start_pref_e");
  unknown("/optimizer/adam_beta", "adam_beta1");
  unknown("/training/nsteps", "num_steps");
  unknown("/training/training_data/sistems", "systems");
}

TEST(InputJson, NamesWrongTypesWithFoundAndExpected)
{
  const auto wrong = [](const std::string &place, const json &value, const std::string &expected,
                        const std::string &found) {
    const std::string text = message_with(place, value);
    expect_in("expected " + expected, text);
    expect_in("found " + found, text);
  };
  wrong("/model", 3, "an object", "3 (a number)");
  wrong("/model/type_map", "O H", "a list", "\"O H\" (a text)");
  wrong("/model/type_map", {1, 2}, "a list", "[1,2] (a list)");
  wrong("/model/type_map", json::array(), "a list", "[]");
  wrong("/model/descriptor", {1}, "an object", "[1]");
  wrong("/model/descriptor/rcut", "6.0", "a number", "\"6.0\" (a text)");
  wrong("/model/descriptor/rcut", true, "a number", "true");
  wrong("/model/descriptor/neuron", 25, "a list of integers", "25");
  wrong("/model/descriptor/neuron", {25, 2.5}, "a list of integers", "[25,2.5]");
  wrong("/model/descriptor/neuron", {25, 5000000000}, "a list of integers", "[25,5000000000]");
  wrong("/model/descriptor/axis_neuron", 2.5, "an integer", "2.5");
  wrong("/model/descriptor/resnet_dt", 1, "true or false", "1");
  wrong("/model/descriptor/activation_function", "swish", "one of tanh", "\"swish\"");
  wrong("/model/descriptor/activation_function", "tanh:3", "one of tanh", "\"tanh:3\"");
  wrong("/model/descriptor/activation_function", "silut:x", "one of tanh", "\"silut:x\"");
  wrong("/model/descriptor/exclude_types", {0, 1}, "a list of pairs", "[0,1]");
  wrong("/model/descriptor/sel", {46}, "2 integers", "[46]");
  wrong("/model/descriptor/sel", {0, 0}, "at least one positive", "[0,0]");
  wrong("/model/descriptor/sel", {-1, 3}, "integers not below 0", "[-1,3]");
  wrong("/model/descriptor/seed", -1, "an integer not below 0", "-1");
  wrong("/model/fitting_net/trainable", {true}, "true, false or a list of 4", "[true]");
  wrong("/model/fitting_net/atom_ener", {1.0}, "an empty list, or 2 numbers", "[1.0]");
  wrong("/learning_rate/start_lr", "fast", "a number", "\"fast\"");
  wrong("/training/numb_steps", -1, "an integer not below 0", "-1");
  wrong("/training/numb_steps", 18446744073709551615u, "an integer not above",
        "18446744073709551615");
  wrong("/training/disp_file", 1, "a text", "1");
  wrong("/training/training_data", "data", "an object", "\"data\"");
}

TEST(InputJson, ChecksRanges)
{
  expect_in("positive", message_with("/model/descriptor/rcut", 0));
  expect_in("smaller than rcut", message_with("/model/descriptor/rcut_smth", 6.0));
  expect_in("smaller than rcut", message_with("/model/descriptor/rcut_smth", -0.1));
  expect_in("positive integer", message_with("/model/descriptor/neuron", json::array()));
  expect_in("positive integer", message_with("/model/fitting_net/neuron", {10, 0}));
  expect_in("(40), found 41", message_with("/model/descriptor/axis_neuron", 41));
  expect_in("found 0", message_with("/model/descriptor/axis_neuron", 0));
  expect_in("found type 2", message_with("/model/descriptor/exclude_types", {{0, 2}}));
  expect_in("found type -1", message_with("/model/pair_exclude_types", {{-1, 0}}));
  expect_in("found type 2", message_with("/model/atom_exclude_types", {2}));
  expect_in("\"O\" twice", message_with("/model/type_map", {"O", "O"}));
  expect_in("not below 0", message_with("/model/descriptor/env_protection", -1.0));
  expect_in("positive", message_with("/learning_rate/start_lr", 0.0));
  expect_in("not below 1", message_with("/learning_rate/decay_steps", 0));
  expect_in("above 0", message_with("/learning_rate/decay_rate", 1.1));
  expect_in("below 1", message_with("/learning_rate/warmup_ratio", 1.0));
  expect_in("smaller than training/numb_steps",
            message_with("/learning_rate/warmup_steps", 100000));
  expect_in("not below 0", message_with("/loss/start_pref_f", -1));
  expect_in("below 1", message_with("/optimizer/adam_beta1", 1.0));
  expect_in("not below 1", message_with("/training/disp_freq", 0));
}

TEST(InputJson, NamesWhatThisVersionDoesNotHave)
{
  const auto absent = [](const std::string &place, const json &value, const std::string &feature) {
    const std::string text = message_with(place, value);
    expect_in("version", text);
    expect_in(feature, text);
  };
  absent("/model/type", "pairtab", "pairtab");
  absent("/model/descriptor/type", "hybrid", "hybrid");
  absent("/model/descriptor/type", "dpa3", "dpa3");
  absent("/model/fitting_net/type", "dipole", "dipole");
  absent("/model/fitting_net/numb_fparam", 2, "fparam");
  absent("/model/fitting_net/rcond", 1e-3, "rcond");
  absent("/model/fitting_net/layer_name", {"a", nullptr}, "layers shared");
  absent("/model/type_embedding", {{"neuron", {8}}}, "type embeddings");
  absent("/model/use_srtab", "table", "pair table");
  absent("/model/spin", json::object(), "spin");
  absent("/model/model_dict", json::object(), "multi-task");
  expect_in("found \"float16\", allowed are float64",
            message_with("/model/descriptor/precision", "float16"));
  absent("/model/preset_out_bias", {{"energy", {1, 2}}}, "preset_out_bias");
  absent("/loss/type", "ener_spin", "ener_spin");
  absent("/optimizer/type", "LKF", "LKF");
  absent("/optimizer/type", "Muon", R"(use "Adam", "AdamW" or "SOAP")");
  absent("/training/opt_type", "LKF", "LKF");
  absent("/training/kf_blocksize", 1, "LKF");
  absent("/optimizer/muon_momentum", 0.9, "Muon");
  absent("/training/model_prob", {{"a", 1}}, "multi-task");
  absent("/learning_rate_dict", json::object(), "multi-task");
  absent("/validating/full_validation", true, "training/validation_data");
  absent("/nvnmd/enable", true, "NVNMD");
}

TEST(InputJson, NamesContradictions)
{
  const auto both = [](json document, const std::string &part) {
    expect_in(part, message_of([&] { read(document); }));
  };
  both(with("/learning_rate", {{"stop_lr", 1e-8}, {"stop_lr_ratio", 1e-3}}), "beside stop_lr");
  both(with("/learning_rate", {{"warmup_steps", 5}, {"warmup_ratio", 0.1}}), "beside warmup_steps");
  both(with("/learning_rate", {{"type", "cosine"}, {"decay_steps", 5}}), "belongs to");
  both(with("/training", {{"numb_steps", 5}, {"stop_batch", 5}}), "its other name \"numb_steps\"");
  both(with("/training", {{"systems", {"a"}}, {"training_data", json::object()}}),
       "beside training_data");
  json document = with("/learning_rate", {{"warmup_steps", 5}});
  document["training"] = {{"warmup_steps", 5}};
  both(document, "training/warmup_steps");
}

TEST(InputJson, NamesMissingParts)
{
  const auto without = [](const std::string &part, const std::string &key) {
    json document = json::parse(smallest);
    document[json::json_pointer(part)].erase(key);
    const std::string text = message_of([&] { read(document); });
    expect_in(key, text);
    expect_in("missing", text);
  };
  without("", "model");
  without("/model", "type_map");
  without("/model", "descriptor");
  without("/model", "fitting_net");
  without("/model/descriptor", "type");
}

TEST(InputJson, GivesLineAndColumnOfASyntaxError)
{
  const Scratch scratch;
  const auto message = [&](const std::string &text) {
    return message_of([&] { read_input(scratch.with("input.json", text)); });
  };
  const std::string text = message("{\n  \"model\": {\n    \"rcut\": 6.0,,\n");
  expect_in("input.json:3:17: not valid JSON", text);
  expect_in("input.json:1:1: not valid JSON", message(""));
  expect_in("JSON has no comments", message("{ // model\n}"));
  expect_in("expected an object", message("[1, 2]"));
  expect_in("input.yaml: an input file must be JSON, not YAML",
            message_of([&] { read_input(scratch.with("input.yaml", "model: 1")); }));
  expect_in("input.json:1:1: not valid JSON", message("model:\n  type_map: [O]\n"));
  EXPECT_EQ(message_of([&] { read_input_text("{\n  \"training\": {}}", "text"); }),
            "text: model: expected an object { ... }, but the key is missing");
  EXPECT_EQ(message_of([&] { read_input_text("{\"model\": {},\n  \"model\": {}}", "text"); }),
            "text:2:3: model: given twice, first in line 1; keep one");
  expect_in("does not exist", message_of([&] { read_input(scratch / "none.json"); }));
  expect_in("is a directory", message_of([&] { read_input(scratch.path()); }));
}

}  // namespace dptrain::test
