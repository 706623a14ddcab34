// TorchScript potentials are trained on as many ranks as there are: the same gradient and parameters as on one.

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/training/trainer.h"
#include "support/scratch.h"
#include "support/script_case.h"
#include "support/small_training.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

struct Case {
  std::string toy;
  Distribution way;
};

std::vector<WholeFrame> whole_frames()
{
  std::vector<WholeFrame> frames{script_frame(1, 14), random_frame(2, 3, cubic_box(5.0), true, 1.2),
                                 random_frame(4, 9, cubic_box(7.0), false, 1.2),
                                 random_frame(5, 8, cubic_box(4.5), true, 1.2)};
  frames[1].label.force.clear();
  frames[2].label.virial.reset();
  return frames;
}

TrainingConfig configuration()
{
  TrainingConfig config = small_training(3);
  config.parallel.check_every = 5;
  return config;
}

struct Training {
  Training(std::shared_ptr<const Communicator> comm, const Case &c) :
      model(script_model(script_toy_named(c.toy))), trainer(model, comm, configuration())
  {
    Distributor distributor(comm, possible_distribution(c.way, !model->is_local()), 3, 100);
    for (const WholeFrame &whole : whole_frames())
      trainer.add(distributor.share(whole, model->cutoff()));
  }
  std::shared_ptr<Model> model;
  Trainer trainer;
};

class ScriptRanks : public testing::TestWithParam<Case> {};

}  // namespace

// Sums in another order: 1e-12.
TEST_P(ScriptRanks, GradientIsThatOfOneRank)
{
  Training one(make_mpi_communicator(), GetParam()), all(world(), GetParam());
  for (const std::vector<std::int64_t> &batch :
       std::vector<std::vector<std::int64_t>>{{0}, {1}, {2}, {0, 1, 2, 3}, {3, 3, 0}}) {
    std::vector<double> expected, found;
    const UpdateReport a = one.trainer.loss_gradient(batch, expected);
    const UpdateReport b = all.trainer.loss_gradient(batch, found);
    EXPECT_NEAR(a.loss, b.loss, 1e-12 * a.loss);
    expect_same(expected, found, 1e-12, "gradient");
  }
}

// Adam divides by the size of the gradient: the rounding of one step is 1e-16 / rate of a parameter, of twenty 1e-12.
TEST_P(ScriptRanks, TwentyStepsGiveTheParametersOfOneRank)
{
  Training one(make_mpi_communicator(), GetParam()), all(world(), GetParam());
  const std::vector<double> before = one.model->parameters().values();
  for (int step = 0; step < 20; ++step) {
    const UpdateReport a = one.trainer.update(), b = all.trainer.update();
    EXPECT_NEAR(a.loss, b.loss, 1e-11 * a.loss);
  }
  EXPECT_NE(one.model->parameters().values(), before);
  expect_same(one.model->parameters().values(), all.model->parameters().values(), 1e-12,
              "parameters");
  expect_same(one.model->energy_bias(), all.model->energy_bias(), 1e-12, "energy bias");
}

INSTANTIATE_TEST_SUITE_P(
    Ways, ScriptRanks,
    testing::Values(Case{"local", Distribution::space}, Case{"local", Distribution::frames},
                    Case{"local", Distribution::automatic}, Case{"padding", Distribution::space},
                    Case{"fparam", Distribution::space}, Case{"messages", Distribution::frames},
                    Case{"messages", Distribution::automatic}));

TEST(ScriptDistribution, MessagesDoNotPassBetweenRanks)
{
  EXPECT_EQ(possible_distribution(Distribution::automatic, true), Distribution::frames);
  EXPECT_EQ(possible_distribution(Distribution::frames, true), Distribution::frames);
  EXPECT_EQ(possible_distribution(Distribution::space, false), Distribution::space);
  const std::string text = message_of([] { possible_distribution(Distribution::space, true); });
  expect_in("distribute space", text);
  expect_in("distribute frames", text);
  // a frame that is divided all the same stops all ranks, with one message
  const auto comm = world();
  const auto model = script_model(script_toy_named("messages"));
  Trainer trainer(model, comm, configuration());
  const auto add = [&] { trainer.add(scatter_frame(comm, script_frame(1, 14), model->cutoff())); };
  if (comm->size() == 1)
    add();
  else
    expect_in("distribute frames", message_of(add));
}

}  // namespace dptrain::test
