// input.json: the sections that say how to train.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dptrain/input/config.h"
#include "support/input.h"

namespace dptrain::test {

TEST(InputTraining, ReadsEveryTrainingKey)
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
      "disp_training": false, "time_training": false, "disp_avg": true, "change_bias_after_training": true,
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
  double expected = 1.0;
  for (const char *term : {"e", "f", "v", "ae", "pf", "gf"}) {
    EXPECT_EQ(t.loss.prefactor(term).start, expected++) << term;
    EXPECT_EQ(t.loss.prefactor(term).limit, expected++) << term;
  }
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

TEST(InputTraining, ReadsEveryBatchSize)
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

TEST(InputTraining, ReadsEveryProbability)
{
  const std::string place = "/training/training_data/auto_prob";
  for (const char *good : {"prob_uniform", "prob_sys_size", "prob_sys_size;0:2:0.5;2:5:1e-1"})
    EXPECT_EQ(read(with(place, good)).offline.training_data.auto_prob, good);
  for (const char *wrong :
       {"uniform", "prob_uniform;0:1:1", "prob_sys_size;", "prob_sys_size;;0:1:1",
        "prob_sys_size;0:1", "prob_sys_size;1:1:1", "prob_sys_size;0:1:-1", "prob_sys_size;0:1:x",
        "prob_sys_size;-1:1:1", "prob_sys_size;0:1:1:1", ""})
    expect_in("expected \"prob_sys_size\", \"prob_uniform\"", message_with(place, wrong));
  // a negative one takes what the others leave
  EXPECT_EQ(
      read(with("/training/training_data/sys_probs", {0.5, -1.0})).offline.training_data.sys_probs,
      (std::vector<double>{0.5, -1.0}));
  expect_in("at least one number that is not 0",
            message_with("/training/training_data/sys_probs", {0, 0}));
  expect_in("sys_weights: given beside its other name", message_of([] {
              read(with("/training/training_data", {{"sys_probs", {1}}, {"sys_weights", {1}}}));
            }));
}

TEST(InputTraining, ReadsTheLength)
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

TEST(InputTraining, ReadsEveryLoss)
{
  const auto loss = [](const json &value) { return read(with("/loss", value)).training.loss; };
  EXPECT_EQ(loss(json::object()).function, LossFunction::mse);
  EXPECT_EQ(loss({{"loss_func", "mae"}}).function, LossFunction::mae);
  EXPECT_EQ(loss({{"use_huber", true}}).function, LossFunction::huber);
  // as in DeePMD-kit, whose absolute error knows no Huber form
  EXPECT_EQ(loss({{"use_huber", true}, {"loss_func", "mae"}}).function, LossFunction::mae);
  EXPECT_EQ(loss({{"huber_delta", 0.5}}).huber_delta, (std::array<double, 3>{0.5, 0.5, 0.5}));
  EXPECT_TRUE(loss({{"use_huber", true}, {"f_use_norm", true}}).f_use_norm);
  EXPECT_EQ(loss({{"type", "ener_hess"}}).prefactor("e").start, 0.02);
  // a prefactor whose partner is zero does not count
  EXPECT_EQ(loss({{"start_pref_gf", 1.0}}).prefactor("gf").start, 1.0);
  EXPECT_EQ(loss({{"use_huber", true}, {"start_pref_pf", 1.0}}).prefactor("pf").start, 1.0);
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

TEST(InputTraining, ReadsEveryLearningRate)
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

TEST(InputTraining, ReadsSoap)
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

TEST(InputTraining, ReadsTheAverageOfTheWeights)
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

TEST(InputTraining, KnowsWhatTheFileGives)
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

}  // namespace dptrain::test
