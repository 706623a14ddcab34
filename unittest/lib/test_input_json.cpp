// DeePMD-kit's input.json: defaults, every key, and the message for every kind of mistake.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include <nlohmann/json.hpp>

#include "dptrain/config.h"
#include "support/scratch.h"

namespace dptrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::expect_in;
using test::message_of;
using test::Scratch;

const char *const smallest = R"({
  "_comment": "not read",
  "model": {
    "type_map": ["O", "H"],
    "_note": 1,
    "descriptor": {"type": "se_e2_a", "_note": "dropped"},
    "fitting_net": {}
  }
})";

InputFile read(const json &document)
{
  return read_input_text(document.dump(2), "input.json");
}

/// The smallest input with one value changed.
json with(const std::string &place, const json &value)
{
  json document = json::parse(smallest);
  document[json::json_pointer(place)] = value;
  return document;
}

/// Message for the smallest input with one value changed; it must name the place of the key: file, line, column, path.
std::string message_with(const std::string &place, const json &value)
{
  const json document = with(place, value);
  const std::string text = message_of([&] { read(document); });
  const std::string key = place.substr(place.rfind('/') + 1), written = document.dump(2);
  // "input.json:LINE:COLUMN: path: ..." points to the key in quotes
  std::size_t line = 0, column = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "input.json:%zu:%zu:", &line, &column), 2) << text;
  std::size_t begin = 0;
  for (std::size_t i = 1; i < line; ++i) begin = written.find('\n', begin) + 1;
  EXPECT_EQ(written.substr(begin + column - 1, key.size() + 2), '"' + key + '"') << text;
  expect_in(": " + place.substr(1), text);
  return text;
}

TEST(InputJson, HasTheDefaultsOfDeepmd)
{
  const InputFile input = read(json::parse(smallest));
  const ModelConfig &model = input.model;
  EXPECT_EQ(model.type_map, (std::vector<std::string>{"O", "H"}));
  EXPECT_EQ(model.rcut, 6.0);
  EXPECT_EQ(model.rcut_smth, 0.5);
  EXPECT_TRUE(model.sel.empty());
  EXPECT_EQ(model.sel_factor, 1.1);
  EXPECT_FALSE(input.sel_factor_given);
  EXPECT_EQ(model.neuron, (std::vector<int>{10, 20, 40}));
  EXPECT_EQ(model.axis_neuron, 4);
  EXPECT_EQ(model.activation, "tanh");
  EXPECT_FALSE(model.resnet_dt);
  EXPECT_FALSE(model.type_one_side);
  EXPECT_EQ(model.precision, "float64");
  EXPECT_TRUE(model.trainable);
  EXPECT_FALSE(model.seed);
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
  EXPECT_EQ(training.loss.start_pref_e, 0.02);
  EXPECT_EQ(training.loss.limit_pref_e, 1.0);
  EXPECT_EQ(training.loss.start_pref_f, 1000.0);
  EXPECT_EQ(training.loss.limit_pref_f, 1.0);
  EXPECT_EQ(training.loss.start_pref_v, 0.0);
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
  EXPECT_EQ(model.sel, (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(model.rcut, 5.0);
  EXPECT_EQ(model.rcut_smth, 1.5);
  EXPECT_EQ(model.neuron, (std::vector<int>{4, 8}));
  EXPECT_EQ(model.axis_neuron, 3);
  EXPECT_EQ(model.activation, "silut:3.0");
  EXPECT_TRUE(model.resnet_dt);
  EXPECT_TRUE(model.type_one_side);
  EXPECT_EQ(model.precision, "float32");
  EXPECT_FALSE(model.trainable);
  EXPECT_EQ(model.seed, 7u);
  EXPECT_EQ(model.exclude_types, (std::vector<std::array<int, 2>>{{0, 1}, {2, 2}}));
  EXPECT_EQ(model.env_protection, 0.01);
  EXPECT_TRUE(model.set_davg_zero);
  EXPECT_EQ(model.fitting_neuron, (std::vector<int>{16, 32}));
  EXPECT_EQ(model.fitting_activation, "relu6");
  EXPECT_FALSE(model.fitting_resnet_dt);
  EXPECT_EQ(model.fitting_precision, "float32");
  EXPECT_EQ(model.fitting_trainable, (std::vector<bool>{true, false, true}));
  EXPECT_FALSE(model.fitting_seed);
  EXPECT_EQ(model.atom_ener, (std::vector<std::optional<double>>{-1.5, std::nullopt, 0.0}));
}

TEST(InputJson, ReadsEveryTrainingKey)
{
  json document = json::parse(smallest);
  document.update(json::parse(R"({
    "learning_rate": {"type": "exp", "start_lr": 0.002, "stop_lr_ratio": 1e-3, "decay_steps": 100,
      "decay_rate": 0.95, "smooth": true, "warmup_ratio": 0.1, "warmup_start_factor": 0.2,
      "scale_by_worker": "linear"},
    "loss": {"type": "ener", "start_pref_e": 1, "limit_pref_e": 2, "start_pref_f": 3,
      "limit_pref_f": 4, "start_pref_v": 5, "limit_pref_v": 6, "start_pref_ae": 7,
      "limit_pref_ae": 8, "start_pref_pf": 9, "limit_pref_pf": 10, "start_pref_gf": 11,
      "limit_pref_gf": 12, "numb_generalized_coord": 2, "start_pref_h": 0, "limit_pref_h": 0.0,
      "relative_f": 0.5, "enable_atom_ener_coeff": true, "use_default_pf": true,
      "use_huber": false, "loss_func": "mae", "f_use_norm": true, "intensive_ener_virial": true,
      "huber_delta": [0.1, 0.2, 0.3]},
    "optimizer": {"type": "AdamW", "adam_beta1": 0.8, "adam_beta2": 0.99, "weight_decay": 0.01},
    "training": {"num_steps": 1e6, "seed": 10, "disp_file": "curve", "disp_freq": 5,
      "save_freq": 7, "save_ckpt": "ckpt/m", "save_dir": "out", "max_ckpt_keep": 2,
      "ckpt_keep_ratio": 0.25, "enable_ema": false, "gradient_max_norm": 5, "acc_freq": 2,
      "stat_file": "stat.hdf5", "stat_file_mode": "read", "disp_training": false,
      "time_training": false, "disp_avg": true, "change_bias_after_training": true,
      "training_data": {"systems": ["a", "b*"], "batch_size": 4, "set_prefix": "part",
        "auto_prob": "prob_sys_size;0:1:0.3;1:2:0.7", "sys_probs": [1, 0.5], "min_pair_dist": 0.6,
        "rglob_patterns": ["*/data"]},
      "validation_data": {"systems": "c", "numb_btch": 3, "batch_size": "auto:100",
        "sys_weights": [1.0], "auto_prob_style": "prob_uniform"}},
    "validating": {"full_validation": false}})"));
  const InputFile input = read(document);
  const TrainingConfig &t = input.training;
  EXPECT_EQ(t.schedule.start_lr, 0.002);
  EXPECT_FALSE(t.schedule.stop_lr);
  EXPECT_EQ(t.schedule.stop_lr_ratio, 1e-3);
  EXPECT_EQ(t.schedule.decay_steps, 100);
  EXPECT_EQ(t.schedule.decay_rate, 0.95);
  EXPECT_TRUE(t.schedule.smooth);
  EXPECT_EQ(t.schedule.warmup_ratio, 0.1);
  EXPECT_EQ(t.schedule.warmup_start_factor, 0.2);
  EXPECT_EQ(t.loss.start_pref_e, 1.0);
  EXPECT_EQ(t.loss.limit_pref_e, 2.0);
  EXPECT_EQ(t.loss.start_pref_f, 3.0);
  EXPECT_EQ(t.loss.limit_pref_f, 4.0);
  EXPECT_EQ(t.loss.start_pref_v, 5.0);
  EXPECT_EQ(t.loss.limit_pref_v, 6.0);
  EXPECT_EQ(t.loss.start_pref_ae, 7.0);
  EXPECT_EQ(t.loss.limit_pref_ae, 8.0);
  EXPECT_EQ(t.loss.start_pref_pf, 9.0);
  EXPECT_EQ(t.loss.limit_pref_pf, 10.0);
  EXPECT_EQ(t.loss.start_pref_gf, 11.0);
  EXPECT_EQ(t.loss.limit_pref_gf, 12.0);
  EXPECT_EQ(t.loss.numb_generalized_coord, 2);
  EXPECT_EQ(t.loss.relative_f, 0.5);
  EXPECT_TRUE(t.loss.enable_atom_ener_coeff && t.loss.use_default_pf && t.loss.f_use_norm &&
              t.loss.intensive_ener_virial);
  EXPECT_EQ(t.loss.function, LossFunction::mae);
  EXPECT_EQ(t.loss.huber_delta, (std::array<double, 3>{0.1, 0.2, 0.3}));
  EXPECT_EQ(t.optimizer.type, OptimizerType::adamw);
  EXPECT_EQ(t.optimizer.beta1, 0.8);
  EXPECT_EQ(t.optimizer.beta2, 0.99);
  EXPECT_EQ(t.optimizer.weight_decay, 0.01);
  EXPECT_EQ(t.numb_steps, 1000000);
  EXPECT_EQ(t.seed, 10u);
  EXPECT_EQ(t.disp_file, "curve");
  EXPECT_EQ(t.disp_freq, 5);
  EXPECT_EQ(t.save_freq, 7);
  EXPECT_EQ(t.batch_size, 4);
  EXPECT_EQ(t.gradient_max_norm, 5.0);
  EXPECT_EQ(t.acc_freq, 2);
  const OfflineConfig &o = input.offline;
  EXPECT_FALSE(o.num_epoch);
  EXPECT_EQ(o.save_ckpt, "ckpt/m");
  EXPECT_EQ(o.save_dir, "out");
  EXPECT_EQ(o.max_ckpt_keep, 2);
  EXPECT_EQ(o.ckpt_keep_ratio, 0.25);
  EXPECT_EQ(kept_checkpoints(o, 1000, 300), 1);  // of 4
  EXPECT_EQ(kept_checkpoints(o, 1000, 100), 3);  // 2.5 of 10
  EXPECT_EQ(kept_checkpoints(InputFile().offline, 1000, 100), 5);
  EXPECT_EQ(o.stat_file, "stat.hdf5");
  EXPECT_EQ(o.stat_file_mode, StatFileMode::read);
  EXPECT_FALSE(o.disp_training || o.time_training);
  EXPECT_TRUE(o.disp_avg && o.change_bias_after_training);
  const DataConfig &data = o.training_data;
  EXPECT_EQ(data.systems, (std::vector<std::string>{"a", "b*"}));
  EXPECT_EQ(data.rglob_patterns, (std::vector<std::string>{"*/data"}));
  EXPECT_EQ(data.set_prefix, "part");
  EXPECT_EQ(data.batch_size.rule, BatchSize::Rule::fixed);
  EXPECT_EQ(data.batch_size.number, 4);
  EXPECT_EQ(data.auto_prob, "prob_sys_size;0:1:0.3;1:2:0.7");
  EXPECT_EQ(data.sys_probs, (std::vector<double>{1.0, 0.5}));
  EXPECT_EQ(data.min_pair_dist, 0.6);
  ASSERT_TRUE(o.validation_data);
  EXPECT_EQ(o.validation_data->systems, std::vector<std::string>{"c"});
  EXPECT_EQ(o.validation_data->numb_btch, 3);
  EXPECT_EQ(o.validation_data->batch_size.rule, BatchSize::Rule::at_least);
  EXPECT_EQ(o.validation_data->batch_size.number, 100);
  EXPECT_EQ(o.validation_data->sys_probs, std::vector<double>{1.0});
  EXPECT_EQ(o.validation_data->auto_prob, "prob_uniform");
  EXPECT_TRUE(input.ignored.empty());
}

TEST(InputJson, ReadsEveryBatchSize)
{
  const auto size = [](const json &value) {
    const InputFile input = read(with("/training/training_data/batch_size", value));
    return input.offline.training_data.batch_size;
  };
  using Rule = BatchSize::Rule;
  const auto expect = [&](const json &value, Rule rule, std::int64_t number) {
    EXPECT_EQ(size(value).rule, rule) << value;
    EXPECT_EQ(size(value).number, number) << value;
  };
  expect(nullptr, Rule::at_least, 32);
  expect("auto", Rule::at_least, 32);
  expect("auto:256", Rule::at_least, 256);
  expect("max:100", Rule::at_most, 100);
  expect("filter:7", Rule::filter, 7);
  expect("mixed:4", Rule::mixed, 4);
  expect(3, Rule::fixed, 3);
  EXPECT_EQ(size({1, 2}).rule, Rule::per_system);
  EXPECT_EQ(size({1, 2}).list, (std::vector<int>{1, 2}));
  for (const json &wrong :
       {json("auto:"), json("auto:x"), json("auto:0"), json("max"), json("max:-1"),
        json("filter:1.5"), json("mixed:9999999999"), json("automatic"), json(0), json(1.5),
        json::array(), json({1, 0}), json({1, "a"}), json(true)})
    expect_in("expected", message_with("/training/training_data/batch_size", wrong));
  expect_in("LMDB", message_with("/training/training_data/batch_size", "mix:4"));
}

TEST(InputJson, ReadsEveryProbability)
{
  const std::string place = "/training/training_data/auto_prob";
  for (const char *good : {"prob_uniform", "prob_sys_size", "prob_sys_size;0:2:0.5;2:5:1e-1"})
    EXPECT_EQ(read(with(place, good)).offline.training_data.auto_prob, good);
  for (const char *wrong :
       {"uniform", "prob_uniform;0:1:1", "prob_sys_size;", "prob_sys_size;;0:1:1",
        "prob_sys_size;0:1", "prob_sys_size;1:1:1", "prob_sys_size;0:1:-1", "prob_sys_size;0:1:x",
        "prob_sys_size;-1:1:1", "prob_sys_size;0:1:1:1", ""})
    expect_in("expected \"prob_sys_size\", \"prob_uniform\"", message_with(place, wrong));
  expect_in("not below 0", message_with("/training/training_data/sys_probs", {1.0, -1.0}));
  expect_in("at least one positive", message_with("/training/training_data/sys_probs", {0, 0}));
  expect_in("sys_weights: given beside its other name", message_of([] {
              read(with("/training/training_data", {{"sys_probs", {1}}, {"sys_weights", {1}}}));
            }));
}

TEST(InputJson, ReadsTheLength)
{
  EXPECT_FALSE(read(json::parse(smallest)).length_given);
  for (const char *name : {"numb_steps", "stop_batch", "num_steps", "num_step", "numb_step"}) {
    const InputFile input = read(with(std::string("/training/") + name, 70));
    EXPECT_EQ(input.training.numb_steps, 70);
    EXPECT_TRUE(input.length_given && !input.offline.num_epoch);
  }
  for (const char *name : {"numb_epoch", "num_epochs", "num_epoch", "numb_epochs"}) {
    const InputFile input = read(with(std::string("/training/") + name, 2.5));
    EXPECT_EQ(input.offline.num_epoch, 2.5);
    EXPECT_TRUE(input.length_given);
  }
  expect_in("training/num_epoch: given beside num_steps", message_of([] {
              read(with("/training", {{"num_steps", 1}, {"num_epoch", 1}}));
            }));
  expect_in("positive", message_with("/training/num_epoch", 0));
  // a warm-up is compared with a number of steps only
  EXPECT_EQ(read(json::parse(smallest).patch(json::parse(R"([
      {"op": "add", "path": "/training", "value": {"num_epoch": 3}},
      {"op": "add", "path": "/learning_rate", "value": {"warmup_steps": 1000000}}])")))
                .training.schedule.warmup_steps,
            1000000);
}

TEST(InputJson, ReadsEveryLoss)
{
  const auto loss = [](const json &value) { return read(with("/loss", value)).training.loss; };
  EXPECT_EQ(loss(json::object()).function, LossFunction::mse);
  EXPECT_EQ(loss({{"loss_func", "mae"}}).function, LossFunction::mae);
  EXPECT_EQ(loss({{"use_huber", true}}).function, LossFunction::huber);
  // as in DeePMD-kit, whose absolute error knows no Huber form
  EXPECT_EQ(loss({{"use_huber", true}, {"loss_func", "mae"}}).function, LossFunction::mae);
  EXPECT_EQ(loss({{"huber_delta", 0.5}}).huber_delta, (std::array<double, 3>{0.5, 0.5, 0.5}));
  EXPECT_TRUE(loss({{"use_huber", true}, {"f_use_norm", true}}).f_use_norm);
  EXPECT_EQ(loss({{"type", "ener_hess"}}).start_pref_e, 0.02);
  // a prefactor whose partner is zero does not count
  EXPECT_EQ(loss({{"start_pref_gf", 1.0}}).start_pref_gf, 1.0);
  EXPECT_EQ(loss({{"use_huber", true}, {"start_pref_pf", 1.0}}).start_pref_pf, 1.0);
  const auto refused = [](const json &value) {
    return message_of([&] { read(with("/loss", value)); });
  };
  expect_in("loss/f_use_norm: needs use_huber", refused({{"f_use_norm", true}}));
  expect_in("loss/relative_f: does not go together with use_huber",
            refused({{"use_huber", true}, {"relative_f", 1}}));
  expect_in("loss/start_pref_pf: does not go together",
            refused({{"use_huber", true}, {"start_pref_pf", 1}, {"limit_pref_pf", 1}}));
  expect_in("loss/start_pref_gf: does not go together", refused({{"use_huber", true},
                                                                 {"start_pref_gf", 1},
                                                                 {"limit_pref_gf", 1},
                                                                 {"numb_generalized_coord", 1}}));
  expect_in("loss/numb_generalized_coord: expected a positive integer",
            refused({{"start_pref_gf", 1}, {"limit_pref_gf", 1}}));
  expect_in("loss/huber_delta: expected a positive number, or a list of three",
            refused({{"huber_delta", {1, 2}}}));
  expect_in("loss/huber_delta: expected a positive number", refused({{"huber_delta", 0}}));
  expect_in("expected \"mse\" or \"mae\", found \"rmse\"", message_with("/loss/loss_func", "rmse"));
  expect_in("third derivatives", message_with("/loss/start_pref_h", 1.0));
  expect_in("third derivatives", message_with("/loss/limit_pref_h", 1));
}

TEST(InputJson, ReadsEveryLearningRate)
{
  const auto schedule = [](const json &value) {
    return read(with("/learning_rate", value)).training.schedule;
  };
  ScheduleConfig s = schedule({{"type", "wsd"}});
  EXPECT_EQ(s.type, ScheduleType::wsd);
  EXPECT_EQ(s.decay_phase_ratio, 0.1);
  EXPECT_EQ(s.decay_type, "inverse_linear");
  s = schedule({{"type", "wsd"}, {"decay_phase_ratio", 1}, {"decay_type", "cosine"}});
  EXPECT_EQ(s.decay_phase_ratio, 1.0);
  EXPECT_EQ(s.decay_type, "cosine");
  EXPECT_EQ(schedule({{"stop_lr", 0}}).stop_lr, 0.0);
  const auto refused = [&](const json &value) { return message_of([&] { schedule(value); }); };
  expect_in("learning_rate/decay_type: belongs to learning rate type \"wsd\"",
            refused({{"decay_type", "cosine"}}));
  expect_in("learning_rate/smooth: belongs to learning rate type \"exp\"",
            refused({{"type", "wsd"}, {"smooth", true}}));
  expect_in("above 0", refused({{"type", "wsd"}, {"decay_phase_ratio", 0}}));
  expect_in("\"inverse_linear\", \"cosine\" or \"linear\"",
            refused({{"type", "wsd"}, {"decay_type", "exp"}}));
  expect_in("stop_lr: expected a positive number", refused({{"type", "wsd"}, {"stop_lr", 0}}));
  expect_in("stop_lr_ratio: expected a number not below 0", refused({{"stop_lr_ratio", -1}}));
}

TEST(InputJson, NotesKeysWithoutMeaning)
{
  InputFile input = read(json::parse(R"({"model": {"type_map": ["O"], "data_bias_nsample": 20,
      "srtab_add_bias": true, "info": {"by": "me"},
      "descriptor": {"type": "se_a"}, "fitting_net": {}},
    "learning_rate": {"scale_by_worker": "sqrt"},
    "training": {"tensorboard": true, "tensorboard_freq": 10, "tensorboard_log_dir": "log",
      "profiling": false, "profiling_file": "timeline.json", "zero_stage": 1, "numb_test": 3,
      "mixed_precision": {"compute_prec": "float16"}, "enable_compile": true},
    "validating": {"tf32_infer": true, "validation_freq": 10}})"));
  std::sort(input.ignored.begin(), input.ignored.end());
  EXPECT_EQ(input.ignored,
            (std::vector<std::string>{"learning_rate/scale_by_worker", "model/data_bias_nsample",
                                      "training/enable_compile", "training/mixed_precision",
                                      "training/numb_test", "training/tensorboard",
                                      "training/tensorboard_freq", "training/zero_stage",
                                      "validating/tf32_infer"}));
}

TEST(InputJson, ReadsSoap)
{
  OptimizerConfig o = read(with("/optimizer/type", "SOAP")).training.optimizer;
  EXPECT_EQ(o.type, OptimizerType::soap);
  EXPECT_FALSE(o.beta1 || o.beta2 || o.weight_decay);
  EXPECT_EQ(complete(o).beta1, 0.95);
  EXPECT_EQ(complete(o).beta2, 0.95);
  EXPECT_EQ(complete(o).weight_decay, 0.0);
  EXPECT_EQ(o.precondition_frequency, 10);
  EXPECT_EQ(o.max_precondition_dim, 512);
  EXPECT_FALSE(o.precision);
  EXPECT_EQ(complete(o).precision, "float64");
  o = read(with("/optimizer", json::parse(R"({"type": "SOAP", "adam_beta1": 0.9, "adam_beta2": 0.99,
        "epsilon": 1e-7, "weight_decay": 0.1, "precondition_frequency": 5,
        "max_precondition_dim": 300, "precision": "float32"})")))
          .training.optimizer;
  EXPECT_EQ(o.beta1, 0.9);
  EXPECT_EQ(o.beta2, 0.99);
  EXPECT_EQ(o.epsilon, 1e-7);
  EXPECT_EQ(o.weight_decay, 0.1);
  EXPECT_EQ(o.precondition_frequency, 5);
  EXPECT_EQ(o.max_precondition_dim, 300);
  EXPECT_EQ(o.precision, "float32");
  const auto refused = [](const char *key, const json &value) {
    json optimizer{{"type", "SOAP"}};
    optimizer[key] = value;
    return message_of([&] { read(with("/optimizer", optimizer)); });
  };
  expect_in("optimizer/precision: expected \"float64\" or \"float32\"",
            refused("precision", "half"));
  expect_in("optimizer/epsilon: expected a positive number", refused("epsilon", 0.0));
  expect_in("optimizer/precondition_frequency", refused("precondition_frequency", 0));
  o = read(with("/optimizer", json::parse(R"({"type": "Adam", "precision": "float32"})")))
          .training.optimizer;
  EXPECT_EQ(o.precision, "float32");
  // keys of SOAP beside another optimizer
  expect_in(
      "precondition_frequency: belongs to optimizer \"SOAP\"", message_of([] {
        read(with("/optimizer", json::parse(R"({"type": "Adam", "precondition_frequency": 5})")));
      }));
}

TEST(InputJson, ReadsTheAverageOfTheWeights)
{
  const auto decay = [](const json &training) {
    return read(with("/training", training)).training.ema_decay;
  };
  EXPECT_EQ(decay({{"enable_ema", true}}), 0.999);
  EXPECT_EQ(decay({{"enable_ema", true}, {"ema_decay", 0.9}}), 0.9);
  EXPECT_EQ(decay({{"ema_decay", 0.9}}), 0.0);  // as in DeePMD-kit
  expect_in("training/ema_decay: expected a number from 0 to below 1", message_of([&] {
              decay({{"enable_ema", true}, {"ema_decay", 1.0}});
            }));
}

TEST(InputJson, KnowsWhatTheFileGives)
{
  // a plain file of DeePMD-kit means Adam; programs with another default must know that it does not say so
  const InputFile plain = read(json::parse(smallest));
  EXPECT_EQ(plain.training.optimizer.type, OptimizerType::adam);
  EXPECT_FALSE(plain.optimizer_given);
  EXPECT_FALSE(plain.start_lr_given);
  EXPECT_FALSE(read(with("/optimizer", json::object())).optimizer_given);
  EXPECT_FALSE(read(with("/optimizer/type", nullptr)).optimizer_given);
  EXPECT_TRUE(read(with("/optimizer/type", "Adam")).optimizer_given);
  EXPECT_TRUE(read(with("/optimizer/adam_beta1", 0.8)).optimizer_given);
  EXPECT_TRUE(read(with("/optimizer/weight_decay", 0.1)).optimizer_given);
  EXPECT_TRUE(read(with("/training/opt_type", "AdamW")).optimizer_given);
  EXPECT_FALSE(read(with("/learning_rate/type", "cosine")).start_lr_given);
  EXPECT_TRUE(read(with("/learning_rate/start_lr", 1e-3)).start_lr_given);
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
  for (const auto &item : fs::directory_iterator(fs::path(shared) / "cases")) {
    const fs::path path = item.path() / "input.json";
    if (!fs::exists(path)) continue;
    EXPECT_EQ(read_input(path.string()).model.sel.size(),
              read_input(path.string()).model.type_map.size());
    ++count;
  }
  EXPECT_GE(count, 1);
}

TEST(InputJson, ReadsAutomaticSel)
{
  const std::string place = "/model/descriptor/sel";
  EXPECT_EQ(read(with(place, "auto:1.25")).model.sel_factor, 1.25);
  EXPECT_TRUE(read(with(place, "auto:1.25")).sel_factor_given);
  EXPECT_EQ(read(with(place, "auto")).model.sel_factor, 1.1);
  EXPECT_FALSE(read(with(place, "auto")).sel_factor_given);
  EXPECT_TRUE(read(with(place, "auto:1.25")).model.sel.empty());
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
  wrong("/training/numb_steps", 0, "an integer not below 1", "0");
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
  absent("/model/descriptor/precision", "float16", "float16");
  absent("/model/type_embedding", {{"neuron", {8}}}, "type embeddings");
  absent("/model/use_srtab", "table", "pair table");
  absent("/model/spin", json::object(), "spin");
  absent("/model/model_dict", json::object(), "multi-task");
  absent("/model/preset_out_bias", {{"energy", {1, 2}}}, "preset_out_bias");
  absent("/loss/type", "ener_spin", "ener_spin");
  absent("/optimizer/type", "LKF", "LKF");
  absent("/optimizer/type", "Muon", R"(it has "Adam", "AdamW" and "SOAP")");
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
  expect_in("does not exist", message_of([&] { read_input(scratch / "none.json"); }));
  expect_in("is a directory", message_of([&] { read_input(scratch.path()); }));
}

}  // namespace
}  // namespace dptrain
