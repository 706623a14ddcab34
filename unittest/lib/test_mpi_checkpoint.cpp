// A checkpoint that rank 0 has read is the same on all ranks, also one whose states were arrays (format 1).

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/session/checkpoint.h"
#include "dptrain/training/trainer.h"
#include "session/legacy_state.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/state_numbers.h"
#include "support/tiny_model.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

struct Training {
  explicit Training(TrainingConfig settings) :
      config(std::move(settings)),
      model(make_deep_pot(tiny_model(tiny_config()))),
      trainer(model, make_mpi_communicator(), config)
  {
    for (int k = 0; k < 4; ++k)
      trainer.add(scatter_frame(make_mpi_communicator(),
                                random_frame(k + 1, 10 + k, skewed_box(6.0), true, 1.3), 4.0));
  }
  /// As read_checkpoint gives it, but for the state of the trainer.
  Checkpoint checkpoint()
  {
    Checkpoint checkpoint;
    checkpoint.model = model->data();
    checkpoint.parameters = model->parameters().values();
    checkpoint.average = trainer.averaged_parameters();
    checkpoint.training = training_text(config);
    return checkpoint;
  }
  TrainingConfig config;
  std::shared_ptr<Model> model;
  Trainer trainer;
};

/// The array of format 1: all numbers, in the order of that time.
std::vector<double> array_of(const State &state)
{
  std::vector<double> values{static_cast<double>(state.integer("steps")),
                             (state.flag("bias_is_fitted") ? 1.0 : 0.0) +
                                 (state.has("weights") ? 2.0 : 0.0)};
  const auto append = [&](const std::vector<double> &more) {
    values.insert(values.end(), more.begin(), more.end());
  };
  for (const char *name : {"epoch", "position", "frames"})
    values.push_back(static_cast<double>(state.group("buffer").integer(name)));
  if (state.has("weights")) {
    const State &weights = state.group("weights");
    const std::vector<double> &latest = weights.array("latest"), &errors = weights.array("errors");
    append({3.0 + static_cast<double>(latest.size() + errors.size()),
            static_cast<double>(weights.integer("draws")), static_cast<double>(latest.size())});
    append(latest);
    append(errors);
  }
  const State &optimizer = state.group("optimizer");
  values.push_back(static_cast<double>(optimizer.integer("steps")));
  for (const char *name : {"mean", "square", "extra"}) append(optimizer.array(name));
  if (!state.group("average").empty()) {
    values.push_back(state.group("average").number("weight"));
    append(state.group("average").array("mean"));
  }
  if (!state.group("gradient").empty()) append(state.group("gradient").array("kept"));
  return values;
}

/// All combinations of what the array's layout followed from.
std::vector<TrainingConfig> configurations()
{
  std::vector<TrainingConfig> all;
  for (const OptimizerType type : {OptimizerType::adam, OptimizerType::soap})
    for (const double decay : {0.0, 0.9})
      for (const int accumulated : {1, 2})
        for (const bool weighted : {false, true}) {
          TrainingConfig config;
          config.optimizer.type = type;
          config.ema_decay = decay;
          config.acc_freq = accumulated;
          config.weighted_replay = weighted;
          if (weighted) config.rules.freeze = {"descriptor"};  // SOAP keeps nothing of these
          all.push_back(config);
        }
  return all;
}

}  // namespace

TEST(Checkpoint, AllRanksGetWhatOneHasRead)
{
  const auto comm = world();
  TrainingConfig config;
  config.ema_decay = 0.9;
  Training training(config);
  training.trainer.update();
  Checkpoint expected = training.checkpoint();
  expected.trainer = training.trainer.state();
  expected.session.set_text("program", program_fix);
  expected.session.set_flag("trained", true);
  expected.num_frames = 4;
  Checkpoint found = comm->rank() == 0 ? expected : Checkpoint();
  broadcast(*comm, found);
  EXPECT_EQ(found.trainer, expected.trainer);
  EXPECT_EQ(found.session, expected.session);
  EXPECT_EQ(found.parameters, expected.parameters);
  EXPECT_EQ(found.average, expected.average);
  EXPECT_EQ(found.training, expected.training);
  EXPECT_EQ(found.num_frames, 4);
  expect_in("no trainer/buffer/step", message_of([&] {
              State whole;
              whole.set_group("trainer", found.trainer);
              whole.group("trainer").group("buffer").integer("step");
            }));
}

TEST(LegacyState, ATrainingsArrayBecomesItsState)
{
  for (const TrainingConfig &config : configurations()) {
    Training training(config);
    for (int step = 0; step < 3; ++step) training.trainer.update();
    const State state = training.trainer.state();
    EXPECT_EQ(state.group("gradient").empty(), config.acc_freq == 1);
    EXPECT_EQ(state.group("average").empty(), config.ema_decay == 0.0);
    EXPECT_EQ(trainer_of_version_1(array_of(state), training.checkpoint()), state);
  }
}

TEST(LegacyState, DamagedArraysAreRefused)
{
  TrainingConfig config;
  config.weighted_replay = true;
  Training training(config);
  training.trainer.update();
  const Checkpoint checkpoint = training.checkpoint();
  const std::vector<double> good = array_of(training.trainer.state());
  for (const std::size_t size :
       {std::size_t(0), std::size_t(1), std::size_t(4), std::size_t(7), good.size() - 1}) {
    const std::vector<double> shorter(good.begin(), good.begin() + size);
    expect_in("damaged", message_of([&] { trainer_of_version_1(shorter, checkpoint); }));
  }
  std::vector<double> longer = good;
  longer.push_back(0.0);
  expect_in("damaged", message_of([&] { trainer_of_version_1(longer, checkpoint); }));
  for (const double draws : {-1.0, 2.0, 1e9, static_cast<double>(NAN)}) {
    std::vector<double> other = good;
    other[5] = draws;  // numbers of weighted draws
    expect_in("damaged", message_of([&] { trainer_of_version_1(other, checkpoint); }));
  }
}

TEST(LegacyState, SessionsAreToldApart)
{
  EXPECT_TRUE(session_of_version_1({}).empty());
  const State fix =
      session_of_version_1({7, 1, 1, 40, -5.5, 2.5, 0.5, 12, 3.0, 0.1, 0.2, NAN, 1e-3, 4, 1});
  EXPECT_EQ(fix.text("program"), program_fix);
  EXPECT_EQ(fix.integer("reference_calls"), 7);
  EXPECT_EQ(fix.integer("earned_steps"), 4);
  EXPECT_EQ(fix.text("precision"), "single");
  EXPECT_EQ(fix.group("report").group("terms").group("f").number("rmse"), 0.2);
  EXPECT_EQ(fix.group("report").number("learning_rate"), 1e-3);
  EXPECT_FALSE(fix.has("active"));
  // version 0.1.0 wrote no precision
  EXPECT_EQ(session_of_version_1({7, 1, 1, 40, -5.5, 2.5, 0.5, 12, 3.0, 0.1, 0.2, NAN, 1e-3, 4})
                .text("precision"),
            "double");
  const State train = session_of_version_1({-1, 1, 4, 0, 0, 2, 9, 7, 3, 5});
  EXPECT_EQ(train.text("program"), program_train);
  EXPECT_EQ(train.text("precision"), "mixed");
  EXPECT_EQ(train.group("training").integer("draws"), 9);
  EXPECT_EQ(train.group("training").array("frames"), std::vector<double>{7});
  EXPECT_EQ(train.group("training").array("epochs"), std::vector<double>{3});
  EXPECT_EQ(train.group("training").array("positions"), std::vector<double>{5});
  EXPECT_TRUE(train.group("validation").empty());
  EXPECT_TRUE(train.group("means").empty());
  for (const std::vector<double> &damaged : {std::vector<double>{-1},
                                             {-1, 1, 4, 0, 0, 2, 9, 7},
                                             {-1, 1, 2, 0, 0, 5, 9, 7},
                                             {3, 1},
                                             {-1, 1, 0, 0, 3, 2, 1, 2, 3},
                                             {NAN},
                                             {7, 1, 1, 40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 4, 9}})
    EXPECT_THROW(session_of_version_1(damaged), Error);
  std::vector<double> of_another_version(40, 0.0);
  of_another_version[15] = 17.0;  // numbers of the active learning
  expect_in("mode active", message_of([&] { session_of_version_1(of_another_version); }));
}

}  // namespace dptrain::test
