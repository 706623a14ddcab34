// The training loop with a pair potential in closed form, on as many ranks as there are.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/evaluator.h"
#include "dptrain/training/trainer.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/small_training.h"
#include "support/toy_model.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

constexpr double RCUT = 3.0;

/// Frames of different sizes, cells and labels: all; none but forces; no forces; no periodicity and one atom per rank at most.
std::vector<WholeFrame> mixed_frames()
{
  std::vector<WholeFrame> frames{random_frame(1, 30, skewed_box(6.0), true, 1.0),
                                 random_frame(2, 11, cubic_box(5.0), true, 1.0),
                                 random_frame(3, 17, skewed_box(4.0), true, 0.8),
                                 random_frame(4, 3, cubic_box(3.0), false, 1.0)};
  frames[1].label.energy.reset();
  frames[1].label.virial.reset();
  frames[2].label.force.clear();
  return frames;
}

TrainingConfig configuration()
{
  TrainingConfig config = small_training(3);
  config.fit_energy_bias = false;
  return config;
}

struct Training {
  explicit Training(std::shared_ptr<const Communicator> comm,
                    const TrainingConfig &config = configuration(),
                    const std::vector<WholeFrame> &frames = mixed_frames()) :
      model(std::make_shared<ToyModel>(RCUT)), trainer(model, comm, config)
  {
    for (const auto &frame : frames) trainer.add(scatter_frame(comm, frame, RCUT));
  }
  double loss(const std::vector<std::int64_t> &batch)
  {
    std::vector<double> unused;
    return trainer.loss_gradient(batch, unused).loss;
  }
  std::shared_ptr<ToyModel> model;
  Trainer trainer;
};

}  // namespace

TEST(Trainer, GradientIsThatOfTheLoss)
{
  const auto comm = world();
  Training t(comm);
  t.model->set_energy_bias({0.3, -0.2});
  for (const std::vector<std::int64_t> &batch :
       std::vector<std::vector<std::int64_t>>{{0}, {1}, {2}, {3}, {0, 1, 2, 3}}) {
    std::vector<double> gradient;
    t.trainer.loss_gradient(batch, gradient);
    const std::vector<double> x = t.model->parameters().values();
    double scale = 1e-3;
    for (double g : gradient) scale = std::max(scale, std::abs(g));
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double h = 1e-5;
      std::vector<double> up = x, down = x;
      up[k] += h;
      down[k] -= h;
      t.model->parameters().set(up);
      const double high = t.loss(batch);
      t.model->parameters().set(down);
      const double low = t.loss(batch);
      t.model->parameters().set(x);
      // h^2 truncation and rounding of the difference: about 1e-9 relative to the largest component
      EXPECT_NEAR(gradient[k], (high - low) / (2 * h), 1e-8 * scale) << "parameter " << k;
    }
  }
}

TEST(Trainer, LossIsTheMeanOverFramesOfTheDefinition)
{
  // by the model on the whole frame, by the formula, on one rank
  const auto comm = make_mpi_communicator();
  const auto config = configuration();
  ToyModel model(RCUT);
  double expected = 0.0;
  const auto frames = mixed_frames();
  for (const auto &whole : frames) {
    const Frame frame = scatter_frame(comm, whole, RCUT);
    std::vector<double> force(3 * frame.nall(), 0.0);
    ForwardOutput out;
    out.force = force.data();
    model.forward(frame.domain(), out);
    frame.halo->reduce(force.data(), 3);
    const double n = static_cast<double>(whole.type.size());
    if (whole.label.energy) expected += 0.7 * std::pow(out.energy - *whole.label.energy, 2) / n;
    for (std::size_t k = 0; k < whole.label.force.size(); ++k)
      expected += 30.0 * std::pow(force[k] - whole.label.force[k], 2) / (3 * n);
    for (int k = 0; k < 9 && whole.label.virial; ++k)
      expected += 0.2 * std::pow(out.virial[k] - (*whole.label.virial)[k], 2) / (9 * n);
  }
  expected /= frames.size();
  Training t(world());
  EXPECT_NEAR(t.loss({0, 1, 2, 3}), expected, 1e-12 * expected);  // rounding of sums
}

TEST(Trainer, FramesCountByTheirWeights)
{
  std::vector<WholeFrame> frames = mixed_frames();
  const auto comm = world();
  Training plain(comm);
  frames[0].label.frame_weight = 2.5;
  frames[2].label.frame_weight = 0.0;
  Training weighted(comm, configuration(), frames);
  std::vector<double> expected, found;
  for (const auto &[frame, weight] : {std::pair{0, 2.5}, {1, 1.0}, {2, 0.0}}) {
    const double loss = plain.trainer.loss_gradient({frame}, expected).loss;
    EXPECT_NEAR(weighted.trainer.loss_gradient({frame}, found).loss, weight * loss, 1e-12 * loss);
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_NEAR(found[k], weight * expected[k], 1e-12 * std::abs(expected[k])) << k;
  }
  EXPECT_NEAR(weighted.loss({0, 1}), (2.5 * plain.loss({0}) + plain.loss({1})) / 2.0,
              1e-12 * weighted.loss({0, 1}));
}

TEST(Trainer, AnyNumberOfRanksGivesTheSame)
{
  Training one(make_mpi_communicator()), all(world());
  for (int step = 0; step < 12; ++step) {
    const UpdateReport a = one.trainer.update(), b = all.trainer.update();
    EXPECT_NEAR(a.loss, b.loss, 1e-12 * a.loss);
    EXPECT_EQ(a.step, b.step);
    for (const char *term : {"e", "f", "v"}) {
      EXPECT_EQ(std::isnan(a.rmse(term)), std::isnan(b.rmse(term)));
      if (!std::isnan(a.rmse(term))) {
        EXPECT_NEAR(a.rmse(term), b.rmse(term), 1e-12 * std::abs(a.rmse(term)));
      }
    }
  }
  for (std::size_t k = 0; k < 8; ++k)
    EXPECT_NEAR(one.model->parameters().values()[k], all.model->parameters().values()[k], 1e-12);
  EXPECT_NEAR(one.model->expected, all.model->expected, 1e-14);
}

TEST(Trainer, ReportsErrorsOfTheBatch)
{
  Training t(world());
  std::vector<double> unused;
  const UpdateReport forces_only = t.trainer.loss_gradient({1}, unused);
  EXPECT_TRUE(std::isnan(forces_only.rmse("e")));
  EXPECT_TRUE(std::isnan(forces_only.rmse("v")));
  EXPECT_NEAR(forces_only.loss, 30.0 * forces_only.rmse("f") * forces_only.rmse("f"),
              1e-12 * forces_only.loss);
  const UpdateReport no_forces = t.trainer.loss_gradient({2}, unused);
  EXPECT_TRUE(std::isnan(no_forces.rmse("f")));
  EXPECT_NEAR(no_forces.loss,
              17 *
                  (0.7 * std::pow(no_forces.rmse("e"), 2) + 0.2 * std::pow(no_forces.rmse("v"), 2)),
              1e-12 * no_forces.loss);
  EXPECT_DOUBLE_EQ(no_forces.learning_rate, 1e-3);
}

TEST(Trainer, LearnsTheParametersOfAnotherModel)
{
  const auto comm = world();
  ToyModel truth(RCUT);
  truth.parameters().set({1.2, 0.25, -0.6, 0.45, 0.5, 0.25, 1.3, 0.4});
  truth.set_energy_bias({-3.0, 5.0});
  auto frames = mixed_frames();
  for (auto &whole : frames) {
    const Frame frame = scatter_frame(make_mpi_communicator(), whole, RCUT);
    std::vector<double> force(3 * frame.nall(), 0.0);
    ForwardOutput out;
    out.force = force.data();
    truth.forward(frame.domain(), out);
    frame.halo->reduce(force.data(), 3);
    whole.label.energy = out.energy;
    whole.label.virial = out.virial;
    whole.label.force.assign(force.begin(), force.begin() + 3 * frame.nlocal);
  }
  TrainingConfig config = configuration();
  config.schedule.start_lr = 2e-2;
  config.schedule.stop_lr = 1e-4;
  config.numb_steps = 300;
  config.batch_size = 4;
  Training t(comm, config, frames);
  t.model->set_energy_bias(truth.energy_bias());
  const UpdateReport first = t.trainer.update();
  UpdateReport last;
  for (int step = 1; step < config.numb_steps; ++step) last = t.trainer.update();
  EXPECT_LT(last.rmse("f"), 0.02 * first.rmse("f"));
  EXPECT_EQ(last.step, 300);
}

TEST(Trainer, EnergyBiasIsFittedOnceBeforeTheFirstStep)
{
  // labels = energy of the model + constants per type: the fit must find them
  const auto comm = world();
  auto frames = mixed_frames();
  ToyModel truth(RCUT);
  truth.set_energy_bias({-93.5, -187.0});
  for (auto &whole : frames) {
    const Frame frame = scatter_frame(make_mpi_communicator(), whole, RCUT);
    std::vector<double> force(3 * frame.nall(), 0.0);
    ForwardOutput out;
    out.force = force.data();
    truth.forward(frame.domain(), out);
    whole.label.energy = out.energy;
  }
  TrainingConfig config = configuration();
  config.fit_energy_bias = true;
  Training t(comm, config, frames);
  t.trainer.update();
  EXPECT_NEAR(t.model->energy_bias()[0], -93.5,
              1e-10);  // condition of the counts times rounding of 5e3 eV
  EXPECT_NEAR(t.model->energy_bias()[1], -187.0, 1e-10);
  t.model->set_energy_bias({1.0, 2.0});
  t.trainer.update();
  EXPECT_EQ(t.model->energy_bias()[0], 1.0);
}

TEST(Trainer, EnergyBiasOfTypesWithoutEnergyOrDataStays)
{
  const auto comm = world();
  auto frames = mixed_frames();
  Training excluded(comm, configuration(), {});
  excluded.model->exclude(1);
  excluded.model->set_energy_bias({0.5, 0.25});
  for (const auto &frame : frames) excluded.trainer.add(scatter_frame(comm, frame, RCUT));
  excluded.trainer.fit_energy_bias();
  EXPECT_EQ(excluded.model->energy_bias()[1], 0.25);
  EXPECT_NE(excluded.model->energy_bias()[0], 0.5);

  for (auto &frame : frames) std::fill(frame.type.begin(), frame.type.end(), 1);
  Training absent(comm, configuration(), frames);
  absent.model->set_energy_bias({0.5, 0.25});
  absent.trainer.fit_energy_bias();
  EXPECT_EQ(absent.model->energy_bias()[0], 0.5);
  EXPECT_NE(absent.model->energy_bias()[1], 0.25);
}

TEST(Trainer, FramesWithoutEnergyLeaveTheBiasForLater)
{
  TrainingConfig config = configuration();
  config.fit_energy_bias = true;
  const auto frames = mixed_frames();
  Training t(world(), config, {frames[1]});
  t.trainer.update();
  EXPECT_EQ(t.model->energy_bias()[0], 0.0);
  t.trainer.add(scatter_frame(world(), frames[0], RCUT));
  t.trainer.update();
  EXPECT_NE(t.model->energy_bias()[0], 0.0);
}

TEST(Trainer, ARestoredTrainingHasTheSameBits)
{
  const auto comm = world();
  TrainingConfig config = configuration();
  config.fit_energy_bias = true;
  Training whole(comm, config);
  for (int step = 0; step < 5; ++step) whole.trainer.update();
  Training resumed(comm, config);
  resumed.model->parameters().set(whole.model->parameters().values());
  resumed.model->set_energy_bias(whole.model->energy_bias());
  resumed.trainer.set_state(whole.trainer.state());
  EXPECT_EQ(resumed.trainer.steps(), 5);
  for (int step = 0; step < 7; ++step) {
    const UpdateReport a = whole.trainer.update(), b = resumed.trainer.update();
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.learning_rate, b.learning_rate);
  }
  EXPECT_EQ(whole.model->parameters().values(), resumed.model->parameters().values());
  expect_in("optimizer is missing", message_of([&] { resumed.trainer.set_state({}); }));
  State other = whole.trainer.state(), optimizer = other.at<State>("optimizer");
  optimizer.set("mean", std::vector<double>{1.0});
  other.set("optimizer", optimizer);
  expect_in("another model", message_of([&] { resumed.trainer.set_state(other); }));
}

TEST(Trainer, BrokenFramesAreRefusedOnAllRanks)
{
  const auto comm = world();
  Training t(comm, configuration(), {});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const WholeFrame good = random_frame(21, 12, cubic_box(6.0), true, 1.0);
  const auto refused = [&](const auto &change) {
    Frame frame = scatter_frame(comm, good, RCUT);
    change(frame);
    return message_of([&] { t.trainer.add(std::move(frame)); });
  };
  const bool last = comm->rank() == comm->size() - 1;
  expect_in("label force", refused([&](Frame &f) {
              if (last) f.label.force[1] = nan;
            }));
  expect_in("position", refused([&](Frame &f) {
              if (last) f.x[0] = nan;
            }));
  expect_in("energy label", refused([&](Frame &f) { f.label.energy = nan; }));
  expect_in("virial label", refused([&](Frame &f) { (*f.label.virial)[3] = nan; }));
  expect_in("atom type 5", refused([&](Frame &f) {
              if (last) f.type[0] = 5;
            }));
  expect_in("no label", refused([&](Frame &f) { f.label = Label(); }));
  expect_in("same position", refused([&](Frame &f) {
              if (last) std::copy_n(&f.x[3 * f.neighbor[0]], 3, f.x.begin());
            }));
  expect_in("halo", refused([&](Frame &f) {
              if (last) f.halo.reset();
            }));
  if (comm->size() > 1) {
    expect_in("others do not", refused([&](Frame &f) {
                if (last) f.label.energy.reset();
              }));
    expect_in("others do not", refused([&](Frame &f) {
                if (last) f.label.force.clear();
              }));
  }
  EXPECT_EQ(t.trainer.num_frames(), 0);
  expect_in("none yet", message_of([&] { t.trainer.update(); }));
}

TEST(Trainer, AModelThatFailsOnOneRankStopsAll)
{
  const auto comm = world();
  Training t(comm);
  t.model->fail = comm->rank() == comm->size() - 1;
  const std::vector<double> before = t.model->parameters().values();
  expect_in("told to fail", message_of([&] { t.trainer.update(); }));
  t.model->fail = false;
  EXPECT_EQ(t.model->parameters().values(), before);
  t.trainer.update();  // works again
}

TEST(Trainer, ALossThatIsNotFiniteChangesNothing)
{
  Training t(world());
  std::vector<double> broken = t.model->parameters().values();
  broken[2] = std::numeric_limits<double>::infinity();
  t.model->parameters().set(broken);
  const std::string message = message_of([&] { t.trainer.update(); });
  expect_in("Training step 1", message);
  expect_in("learning rate 0.001", message);
  EXPECT_EQ(t.model->parameters().values(), broken);
  EXPECT_EQ(t.trainer.steps(), 0);
}

TEST(Trainer, AFullBufferDropsTheOldestFrame)
{
  TrainingConfig config = configuration();
  config.buffer_frames = 2;
  Training t(world(), config);
  EXPECT_EQ(t.trainer.num_frames(), 2);
  EXPECT_EQ(t.trainer.frame(0).step, 3);
  EXPECT_EQ(t.trainer.frame(1).step, 4);
  Training last_two(world(), configuration(), {mixed_frames()[2], mixed_frames()[3]});
  EXPECT_EQ(t.loss({0, 1}), last_two.loss({0, 1}));
}

TEST(Evaluator, StepIsTheModelWithChecks)
{
  const auto model = std::make_shared<ToyModel>(RCUT);
  Evaluator evaluator(model);
  Frame frame = scatter_frame(make_mpi_communicator(), mixed_frames()[0], RCUT);
  std::vector<double> force(3 * frame.nall(), 0.0), expected = force;
  ForwardOutput out, direct;
  out.force = force.data();
  direct.force = expected.data();
  evaluator.step(frame.domain(), out);
  model->forward(frame.domain(), direct);
  EXPECT_EQ(out.energy, direct.energy);
  EXPECT_EQ(force, expected);
  frame.x[4] = std::numeric_limits<double>::infinity();
  expect_in("not a finite number", message_of([&] { evaluator.step(frame.domain(), out); }));
}

}  // namespace dptrain::test
