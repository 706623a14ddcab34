// The input with all defaults written out reads back to the same settings: every key, and inputs as people have them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dptrain/input/config.h"
#include "support/input.h"

namespace dptrain::test {

namespace {

const std::vector<std::pair<const char *, json>> other_values{
    {"/model/type_map", {"H", "O"}},
    {"/model/data_stat_nbatch", 3},
    {"/model/pair_exclude_types", {{0, 1}}},
    {"/model/atom_exclude_types", {1}},
    {"/model/descriptor/rcut", 5.1},
    {"/model/descriptor/rcut_smth", 0.1},
    {"/model/descriptor/sel", {1, 2}},
    {"/model/descriptor/sel", "auto:1.3"},
    {"/model/descriptor/neuron", {8, 16}},
    {"/model/descriptor/axis_neuron", 3},
    {"/model/descriptor/activation_function", "silut:2.5"},
    {"/model/descriptor/resnet_dt", true},
    {"/model/descriptor/type_one_side", true},
    {"/model/descriptor/exclude_types", {{1, 1}}},
    {"/model/descriptor/env_protection", 0.01},
    {"/model/descriptor/set_davg_zero", true},
    {"/model/descriptor/precision", "float32"},
    {"/model/descriptor/trainable", false},
    {"/model/descriptor/seed", 11},
    {"/model/fitting_net/neuron", {7}},
    {"/model/fitting_net/activation_function", "gelu"},
    {"/model/fitting_net/resnet_dt", false},
    {"/model/fitting_net/precision", "single"},
    {"/model/fitting_net/trainable", false},
    {"/model/fitting_net/trainable", {true, false, true, true}},
    {"/model/fitting_net/atom_ener", {nullptr, -1.25}},
    {"/model/fitting_net/seed", 12},
    {"/learning_rate/type", "cosine"},
    {"/learning_rate/type", "wsd"},
    {"/learning_rate", {{"type", "wsd"}, {"decay_phase_ratio", 0.25}}},
    {"/learning_rate", {{"type", "wsd"}, {"decay_type", "linear"}}},
    {"/learning_rate/start_lr", 1.0 / 3.0},
    {"/learning_rate/stop_lr", 1e-7},
    {"/learning_rate/stop_lr_ratio", 1e-3},
    {"/learning_rate/decay_steps", 17},
    {"/learning_rate/decay_rate", 0.9},
    {"/learning_rate/smooth", true},
    {"/learning_rate/warmup_steps", 5},
    {"/learning_rate/warmup_ratio", 0.1},
    {"/learning_rate/warmup_start_factor", 0.3},
    {"/loss/start_pref_e", 0.5},
    {"/loss/limit_pref_e", 0.5},
    {"/loss/start_pref_f", 0.5},
    {"/loss/limit_pref_f", 0.5},
    {"/loss/start_pref_v", 0.5},
    {"/loss/limit_pref_v", 0.5},
    {"/loss/start_pref_ae", 0.5},
    {"/loss/limit_pref_ae", 0.5},
    {"/loss/start_pref_pf", 0.5},
    {"/loss/limit_pref_pf", 0.5},
    {"/loss/start_pref_gf", 0.5},
    {"/loss/limit_pref_gf", 0.5},
    {"/loss/numb_generalized_coord", 2},
    {"/loss/loss_func", "mae"},
    {"/loss", {{"loss_func", "mae"}, {"f_use_norm", true}}},
    {"/loss/use_huber", true},
    {"/loss/huber_delta", 0.2},
    {"/loss/huber_delta", {0.1, 0.2, 0.3}},
    {"/loss/intensive_ener_virial", true},
    {"/loss/relative_f", 0.7},
    {"/loss/enable_atom_ener_coeff", true},
    {"/loss/use_default_pf", true},
    {"/optimizer/type", "AdamW"},
    {"/optimizer/type", "SOAP"},
    {"/optimizer/adam_beta1", 0.8},
    {"/optimizer/adam_beta2", 0.98},
    {"/optimizer/weight_decay", 0.02},
    {"/optimizer/precision", "float32"},
    {"/optimizer", {{"type", "SOAP"}, {"epsilon", 1e-9}}},
    {"/optimizer", {{"type", "SOAP"}, {"precondition_frequency", 3}}},
    {"/optimizer", {{"type", "SOAP"}, {"max_precondition_dim", 99}}},
    {"/training/numb_steps", 7},
    {"/training/numb_epoch", 1.5},
    {"/training/seed", 9},
    {"/training/disp_file", "curve with blanks.out"},
    {"/training/disp_freq", 7},
    {"/training/save_freq", 8},
    {"/training/save_ckpt", "m"},
    {"/training/save_dir", "d"},
    {"/training/max_ckpt_keep", 0},
    {"/training/ckpt_keep_ratio", 0.5},
    {"/training/enable_ema", true},
    {"/training", {{"enable_ema", true}, {"ema_decay", 0.5}}},
    {"/training/gradient_max_norm", 4.5},
    {"/training/acc_freq", 2},
    {"/training/disp_training", false},
    {"/training/time_training", false},
    {"/training/disp_avg", true},
    {"/training/change_bias_after_training", true},
    {"/training/training_data/systems", "one"},
    {"/training/training_data/systems", {"one", "t*"}},
    {"/training/training_data/rglob_patterns", {"*"}},
    {"/training/training_data/set_prefix", "part"},
    {"/training/training_data/batch_size", 3},
    {"/training/training_data/batch_size", {1, 2}},
    {"/training/training_data/batch_size", "auto:7"},
    {"/training/training_data/batch_size", "max:7"},
    {"/training/training_data/batch_size", "filter:7"},
    {"/training/training_data/batch_size", "mixed:7"},
    {"/training/training_data/auto_prob", "prob_uniform"},
    {"/training/training_data/sys_probs", {0.5, 1}},
    {"/training/training_data/min_pair_dist", 0.5},
    {"/training/validation_data", {{"systems", "v"}}},
    {"/training/validation_data", {{"systems", "v"}, {"numb_btch", 3}}},
    {"/training/validation_data", {{"systems", "v"}, {"batch_size", 3}}},
};

/// The resolved text; reading it must give the same again, without a key that has no meaning.
std::string resolved(const json &document)
{
  const std::string text = resolved_input_text(read(document));
  const InputFile again = read_input_text(text, "out.json");
  EXPECT_EQ(resolved_input_text(again), text);
  EXPECT_TRUE(again.ignored.empty());
  EXPECT_TRUE(again.length_given && again.start_lr_given && again.optimizer_given);
  return text;
}

}  // namespace

// With the tests that say which setting a key is, this shows that no setting is lost.
TEST(ResolvedInput, HasEverySetting)
{
  const std::string plain = resolved(json::parse(smallest));
  std::map<std::string, std::string> found;
  for (const auto &[place, value] : other_values) {
    const std::string text = resolved(with(place, value));
    EXPECT_NE(text, plain) << place << " " << value;
    const auto [entry, is_new] = found.emplace(text, place);
    EXPECT_TRUE(is_new) << place << " is as " << entry->second;
  }
}

TEST(ResolvedInput, SaysWhatCounts)
{
  const json text = json::parse(resolved(json::parse(R"({
    "model": {"type_map": ["O"], "descriptor": {"type": "se_a", "n_axis_neuron": 8},
              "fitting_net": {"n_neuron": [5]}},
    "training": {"stop_batch": 100, "opt_type": "AdamW", "warmup_steps": 10, "systems": "data",
                 "auto_prob_style": "prob_uniform"}})")));
  const auto at = [&](const char *place) { return text.at(json::json_pointer(place)); };
  EXPECT_EQ(at("/model/type"), "standard");
  EXPECT_EQ(at("/model/descriptor/type"), "se_e2_a");
  EXPECT_EQ(at("/model/descriptor/axis_neuron"), 8);
  EXPECT_EQ(at("/model/descriptor/sel"), "auto:1.1");
  EXPECT_EQ(at("/model/fitting_net/neuron"), json({5}));
  EXPECT_EQ(at("/learning_rate/stop_lr"), 5e-8);
  EXPECT_EQ(at("/learning_rate/warmup_steps"), 10);
  EXPECT_EQ(at("/optimizer/type"), "AdamW");
  EXPECT_EQ(at("/optimizer/adam_beta2"), 0.999);
  EXPECT_EQ(at("/training/numb_steps"), 100);
  EXPECT_EQ(at("/training/training_data/systems"), json({"data"}));
  EXPECT_EQ(at("/training/training_data/batch_size"), "auto:32");
  EXPECT_EQ(at("/training/training_data/auto_prob"), "prob_uniform");
}

// Layouts of the water, methane and copper inputs that DeePMD-kit's manuals of the versions 1 to 3 show.
TEST(ResolvedInput, ReadsInputsAsPeopleHaveThem)
{
  const char *model = R"({"type_map": ["O", "H"], "_comment": "that's all",
    "descriptor": {"type": "se_e2_a", "sel": [46, 92], "rcut_smth": 0.50, "rcut": 6.00,
      "neuron": [25, 50, 100], "resnet_dt": false, "axis_neuron": 16, "type_one_side": true,
      "precision": "float64", "seed": 1, "_comment": "that's all"},
    "fitting_net": {"neuron": [240, 240, 240], "resnet_dt": true, "precision": "float64",
      "seed": 1, "_comment": "that's all"}})";
  const char *rest[] = {
      R"({"learning_rate": {"type": "exp", "decay_steps": 5000, "start_lr": 0.001, "stop_lr": 3.51e-8,
            "_comment": "that's all"},
          "loss": {"type": "ener", "start_pref_e": 0.02, "limit_pref_e": 1, "start_pref_f": 1000,
            "limit_pref_f": 1, "start_pref_v": 0, "limit_pref_v": 0, "_comment": "that's all"},
          "training": {"training_data": {"systems": ["../data/data_0/", "../data/data_1/"],
              "batch_size": "auto", "_comment": "that's all"},
            "validation_data": {"systems": ["../data/data_3"], "batch_size": 1, "numb_btch": 3},
            "numb_steps": 1000000, "seed": 10, "disp_file": "lcurve.out", "disp_freq": 100,
            "save_freq": 1000, "_comment": "that's all"}})",
      R"({"learning_rate": {"type": "exp", "decay_steps": 5000, "start_lr": 0.001, "stop_lr": 3.51e-8},
          "training": {"stat_file": "./se_e2_a.hdf5",
            "training_data": {"systems": "../data", "rglob_patterns": ["data_*"], "batch_size": 1},
            "validation_data": {"systems": ["../data/data_3"], "batch_size": 1, "numb_batch": 3},
            "num_steps": 1000000, "gradient_max_norm": 5.0, "seed": 10, "tensorboard": false}})",
      R"({"optimizer": {"type": "AdamW", "weight_decay": 0.001, "adam_beta1": 0.9},
          "learning_rate": {"type": "wsd", "start_lr": 1e-3, "stop_lr_ratio": 1e-3,
            "warmup_ratio": 0.05, "decay_phase_ratio": 0.2, "decay_type": "cosine"},
          "loss": {"type": "ener", "loss_func": "mae", "f_use_norm": true,
            "intensive_ener_virial": true, "start_pref_v": 0.02, "limit_pref_v": 1},
          "training": {"num_epoch": 100, "training_data": {"systems": ["a", "b"],
            "batch_size": "filter:512", "auto_prob": "prob_sys_size; 0:1:0.5; 1:2:0.5"}}})",
      R"({"learning_rate": {"type": "exp", "start_lr": 0.005, "decay_steps": 5000, "decay_rate": 0.95},
          "loss": {"start_pref_e": 0.02, "limit_pref_e": 8, "start_pref_f": 1000, "limit_pref_f": 1,
            "start_pref_v": 0, "limit_pref_v": 0},
          "training": {"systems": ["../data/"], "set_prefix": "set", "stop_batch": 1000000,
            "batch_size": [1], "seed": 1, "disp_file": "lcurve.out", "disp_freq": 100,
            "numb_test": 10, "save_freq": 1000, "save_ckpt": "model.ckpt", "load_ckpt": "model.ckpt",
            "disp_training": true, "time_training": true, "profiling": false,
            "profiling_file": "timeline.json"}})"};
  for (const char *sections : rest) {
    json document = json::parse(sections);
    document["model"] = json::parse(model);
    document["_comment"] = "that's all";
    resolved(document);
  }
}

}  // namespace dptrain::test
