// The settings of a training as text and back: every field of every kind.

#include <gtest/gtest.h>

#include "dptrain/input/config.h"
#include "support/scratch.h"

namespace dptrain::test {

namespace {

TrainingConfig every_field_changed()
{
  TrainingConfig config;
  config.schedule.start_lr = 1.0 / 3.0;
  config.schedule.stop_lr = 1e-7;
  config.schedule.decay_steps = 17;
  config.schedule.decay_rate = 0.9;
  config.schedule.smooth = true;
  config.schedule.warmup_steps = 5;
  config.schedule.warmup_start_factor = 0.1;
  config.loss.prefactors["e"] = {0.1, 0.2};
  config.loss.prefactors["f"] = {0.3, 0.4};
  config.loss.prefactors["v"] = {0.5, 0.6};
  config.optimizer.beta1 = 0.7;
  config.optimizer.beta2 = 0.8;
  config.optimizer.weight_decay = 0.01;
  config.optimizer.precision = "float32";
  config.numb_steps = 12345;
  config.batch_size = 3;
  config.seed = 99;
  config.ema_decay = 0.95;
  config.disp_file = "curve with blanks.out";
  config.disp_freq = 7;
  config.save_freq = 8;
  config.gradient_max_norm = 9.5;
  config.acc_freq = 2;
  return config;
}

// `a` was read, `b` was given and may leave defaults to others
void expect_same(const TrainingConfig &a, TrainingConfig b)
{
  if (!b.schedule.stop_lr && !b.schedule.stop_lr_ratio) b.schedule.stop_lr = 5e-8;
  const auto precision = b.optimizer.precision;
  b.optimizer = complete(b.optimizer);
  b.optimizer.precision = precision;
  EXPECT_EQ(a.schedule.type, b.schedule.type);
  EXPECT_EQ(a.schedule.start_lr, b.schedule.start_lr);
  EXPECT_EQ(a.schedule.stop_lr, b.schedule.stop_lr);
  EXPECT_EQ(a.schedule.stop_lr_ratio, b.schedule.stop_lr_ratio);
  EXPECT_EQ(a.schedule.decay_steps, b.schedule.decay_steps);
  EXPECT_EQ(a.schedule.decay_rate, b.schedule.decay_rate);
  EXPECT_EQ(a.schedule.smooth, b.schedule.smooth);
  EXPECT_EQ(a.schedule.warmup_steps, b.schedule.warmup_steps);
  EXPECT_EQ(a.schedule.warmup_ratio, b.schedule.warmup_ratio);
  EXPECT_EQ(a.schedule.warmup_start_factor, b.schedule.warmup_start_factor);
  for (const auto &[term, prefactor] : a.loss.prefactors) {
    EXPECT_EQ(b.loss.prefactor(term).start, prefactor.start) << term;
    EXPECT_EQ(b.loss.prefactor(term).limit, prefactor.limit) << term;
  }
  EXPECT_EQ(a.optimizer.type, b.optimizer.type);
  EXPECT_EQ(a.optimizer.beta1, b.optimizer.beta1);
  EXPECT_EQ(a.optimizer.beta2, b.optimizer.beta2);
  EXPECT_EQ(a.optimizer.epsilon, b.optimizer.epsilon);
  EXPECT_EQ(a.optimizer.weight_decay, b.optimizer.weight_decay);
  EXPECT_EQ(a.optimizer.precision, b.optimizer.precision);
  EXPECT_EQ(a.optimizer.precondition_frequency, b.optimizer.precondition_frequency);
  EXPECT_EQ(a.optimizer.max_precondition_dim, b.optimizer.max_precondition_dim);
  EXPECT_EQ(a.numb_steps, b.numb_steps);
  EXPECT_EQ(a.batch_size, b.batch_size);
  EXPECT_EQ(a.seed, b.seed);
  EXPECT_EQ(a.ema_decay, b.ema_decay);
  EXPECT_EQ(a.disp_file, b.disp_file);
  EXPECT_EQ(a.disp_freq, b.disp_freq);
  EXPECT_EQ(a.save_freq, b.save_freq);
  EXPECT_EQ(a.gradient_max_norm, b.gradient_max_norm);
  EXPECT_EQ(a.acc_freq, b.acc_freq);
}

void expect_survives(const TrainingConfig &config)
{
  const InputFile read = read_training_text(training_text(config), "run.ckpt");
  expect_same(read.training, config);
  EXPECT_TRUE(read.optimizer_given && read.start_lr_given);
}

}  // namespace

TEST(TrainingText, GivesBackEveryField)
{
  expect_survives({});
  TrainingConfig config = every_field_changed();
  expect_survives(config);
  config.optimizer.type = OptimizerType::adamw;
  expect_survives(config);
  config.optimizer.type = OptimizerType::soap;
  config.optimizer.epsilon = 1e-9;
  config.optimizer.precondition_frequency = 4;
  config.optimizer.max_precondition_dim = 200;
  expect_survives(config);
}

TEST(TrainingText, GivesBackACosine)
{
  TrainingConfig config;
  config.schedule.type = ScheduleType::cosine;
  config.schedule.stop_lr_ratio = 1e-3;
  config.schedule.warmup_ratio = 0.1;
  expect_survives(config);
}

TEST(TrainingText, DamageIsNamed)
{
  expect_in("run.ckpt", message_of([] { read_training_text("{\"loss\": 3}", "run.ckpt"); }));
  expect_in("run.ckpt", message_of([] { read_training_text("{", "run.ckpt"); }));
}

}  // namespace dptrain::test
