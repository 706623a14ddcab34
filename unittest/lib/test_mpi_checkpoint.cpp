// A checkpoint that rank 0 has read is the same on all ranks.

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "dptrain/checkpoint/checkpoint.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/training/trainer.h"
#include "support/random_frame.h"
#include "support/scratch.h"
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
    checkpoint.average = trainer.potential_parameters();
    checkpoint.training = training_text(config);
    return checkpoint;
  }
  TrainingConfig config;
  std::shared_ptr<Model> model;
  Trainer trainer;
};

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
  expected.session.set("program", program_fix);
  expected.session.set("trained", true);
  expected.num_frames = 4;
  Checkpoint found = comm->rank() == 0 ? expected : Checkpoint();
  broadcast(*comm, found);
  EXPECT_EQ(found.trainer, expected.trainer);
  EXPECT_EQ(found.session, expected.session);
  EXPECT_EQ(found.parameters, expected.parameters);
  EXPECT_EQ(found.average, expected.average);
  EXPECT_EQ(found.training, expected.training);
  EXPECT_EQ(found.num_frames, 4);
  expect_in("buffer/step is missing",
            message_of([&] { found.trainer.at<State>("buffer").at<std::int64_t>("step"); }));
}

}  // namespace dptrain::test
