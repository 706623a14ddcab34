// Optimizers, their states and the average of the weights divided over as many ranks as there are.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "base/random.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/training/trainer.h"
#include "optimizer/optimizer.h"
#include "optimizer/partition.h"
#include "support/kernel_data.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/state_numbers.h"
#include "support/steps_on_host.h"
#include "support/tiny_model.h"
#include "support/toy_model.h"
#include "support/world.h"

namespace dptrain::test {

namespace {

/// Layers of two small nets, one of them partly frozen.
std::vector<ParameterBlock> blocks()
{
  const std::vector<std::vector<std::int64_t>> shapes{{1, 5}, {5},    {5, 8}, {8},    {8, 6},
                                                      {6},    {6, 1}, {1},    {8, 6}, {6}};
  std::vector<ParameterBlock> blocks;
  std::size_t offset = 0;
  for (const auto &shape : shapes) {
    std::size_t size = 1;
    for (std::int64_t extent : shape) size *= extent;
    blocks.push_back({"block" + std::to_string(blocks.size()), shape, offset, size, true});
    offset += size;
  }
  blocks[4].trainable = blocks[5].trainable = false;
  return blocks;
}

std::size_t count(const std::vector<ParameterBlock> &index)
{
  return index.back().offset + index.back().size;
}

std::vector<OptimizerConfig> configurations()
{
  std::vector<OptimizerConfig> all(5);
  all[1].type = OptimizerType::adamw;
  all[2].type = all[3].type = OptimizerType::soap;
  for (auto &config : all) config.precondition_frequency = 3;
  all[3].precision = "float32";
  all[3].max_precondition_dim = 7;
  all[4].precision = "float32";
  return all;
}

std::vector<double> random_vector(RandomEngine &engine, std::size_t n)
{
  std::vector<double> values(n);
  for (double &value : values) value = random_normal(engine);
  return values;
}

void expect_same_bits_on_all_ranks(const Communicator &comm, const std::vector<double> &values)
{
  std::vector<double> first = values;
  comm.broadcast(first.data(), first.size() * sizeof(double), 0);
  EXPECT_EQ(std::memcmp(first.data(), values.data(), values.size() * sizeof(double)), 0);
}

TrainingConfig configuration()
{
  TrainingConfig config;
  config.loss.prefactors["e"] = {0.7, 0.7};
  config.loss.prefactors["f"] = {3.0, 3.0};
  config.batch_size = 2;
  config.fit_energy_bias = false;
  return config;
}

constexpr double RCUT = 4.0;

struct Training {
  Training(std::shared_ptr<const Communicator> comm, std::shared_ptr<Model> m,
           const TrainingConfig &config) :
      model(std::move(m)), trainer(model, comm, config)
  {
    for (unsigned seed : {1, 2, 3})
      trainer.add(scatter_frame(
          comm, random_frame(seed, 20 + seed, {7, 0, 0, 0, 7, 0, 0, 0, 7}, true, 1.2), RCUT));
  }
  std::shared_ptr<Model> model;
  Trainer trainer;
};

std::shared_ptr<Model> small_net()
{
  return make_deep_pot(tiny_model(tiny_config()));
}

}  // namespace

TEST(Partition, RunsHaveTheSmallestLargestCost)
{
  const auto runs = [](const std::vector<double> &costs, int ranks) {
    return runs_by_cost(costs, ranks);
  };
  EXPECT_EQ(runs({7, 2, 2, 7, 2, 2}, 1), (std::vector<std::size_t>{6}));
  EXPECT_EQ(runs({7, 2, 2, 7, 2, 2}, 2), (std::vector<std::size_t>{3, 3}));
  EXPECT_EQ(runs({7, 2, 2, 7, 2, 2}, 4), (std::vector<std::size_t>{1, 2, 1, 2}));
  EXPECT_EQ(runs({5, 1}, 3), (std::vector<std::size_t>{1, 1, 0}));
  EXPECT_EQ(runs({0, 0, 0}, 2), (std::vector<std::size_t>{3, 0}));
  EXPECT_EQ(equal_parts(10, 4), (std::vector<std::size_t>{3, 3, 2, 2}));
}

// Each block is the work of one rank, which does what one rank alone would do.
TEST(Optimizer, StepsHaveTheSameBitsOnAnyNumberOfRanks)
{
  const auto comm = world();
  const auto index = blocks();
  const std::size_t n = count(index);
  for (const OptimizerConfig &config : configurations()) {
    const auto one = make_optimizer(config, index, make_mpi_communicator());
    const auto all = make_optimizer(config, index, comm);
    const auto &parts = all->parts();
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::size_t(0)), n);
    const std::size_t begin =
        std::accumulate(parts.begin(), parts.begin() + comm->rank(), std::size_t(0));
    RandomEngine engine(1);
    std::vector<double> x = random_vector(engine, n), y = x, start = x;
    for (int step = 0; step < 8; ++step) {
      std::vector<double> gradient = random_vector(engine, n);
      take_step(*one, x, gradient, 0.01);
      for (std::size_t k = 0; k < n; ++k)
        if (k < begin || k >= begin + parts[comm->rank()]) gradient[k] = NAN;  // not read
      take_step(*all, y, gradient, 0.01);
    }
    EXPECT_EQ(x, y);
    for (const auto &block : index)
      EXPECT_EQ(x[block.offset] == start[block.offset], !block.trainable) << block.name;
    expect_same_bits_on_all_ranks(*comm, y);

    const State state = all->state();
    EXPECT_EQ(state, one->state());
    expect_same_bits_on_all_ranks(*comm, numbers_of(state));
    const auto resumed = make_optimizer(config, index, comm);
    resumed->set_state(state);
    for (int step = 0; step < 5; ++step) {
      const std::vector<double> gradient = random_vector(engine, n);
      take_step(*one, x, gradient, 0.01);
      take_step(*resumed, y, gradient, 0.01);
    }
    EXPECT_EQ(x, y);
  }
}

TEST(Optimizer, RanksShareTheStateAndTheWork)
{
  // a layer for each rank, of a size that makes all else small
  const auto comm = world();
  std::vector<ParameterBlock> index;
  for (int r = 0; r < comm->size(); ++r)
    index.push_back({"w", {30, 20}, std::size_t(600 * r), 600, true});
  for (const OptimizerConfig &config : configurations()) {
    const auto alone = make_optimizer(config, index, make_mpi_communicator());
    const auto shared = make_optimizer(config, index, comm);
    EXPECT_EQ(shared->parts(), std::vector<std::size_t>(comm->size(), 600));
    // but for the list of ranges: 16 bytes for each of at most two parts
    EXPECT_NEAR(static_cast<double>(shared->memory_bytes() * comm->size()),
                static_cast<double>(alone->memory_bytes()), 32.0 * comm->size());
  }
}

TEST(Optimizer, AFailureOnOneRankStopsAll)
{
  // eigenvectors of a matrix that is not finite
  const auto comm = world();
  OptimizerConfig config;
  config.type = OptimizerType::soap;
  const auto optimizer = make_optimizer(config, {{"w", {3, 3}, 0, 9, true}}, comm);
  std::vector<double> x(9, 0.0);
  message_of([&] { take_step(*optimizer, x, std::vector<double>(9, NAN), 0.1); });
}

// The gradients of 1 and of several ranks differ by 1e-15 relative. A step of size lr = 1e-3 divides them by their own
// size in the eigenvectors, of which small ones are known to fewer digits: measured differences are below 3e-8.
TEST(Trainer, SoapGivesTheSameOnAnyNumberOfRanks)
{
  const auto comm = world();
  TrainingConfig config = configuration();
  config.optimizer.type = OptimizerType::soap;
  config.optimizer.precondition_frequency = 5;
  Training one(make_mpi_communicator(), small_net(), config), all(comm, small_net(), config);
  for (int step = 0; step < 12; ++step) {
    const double a = one.trainer.update().loss, b = all.trainer.update().loss;
    EXPECT_NEAR(a, b, 1e-6 * a) << "step " << step;
  }
  const auto &x = one.model->parameters().values(), &y = all.model->parameters().values();
  double largest = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, std::abs(x[k] - y[k]));
  EXPECT_LT(largest, 1e-6);
  RecordProperty("largest_difference", std::to_string(largest * 1e12) + "e-12");
  expect_same_bits_on_all_ranks(*comm, y);
}

TEST(Trainer, SoapAndAverageSurviveARestart)
{
  const auto comm = world();
  TrainingConfig config = configuration();
  config.optimizer.type = OptimizerType::soap;
  config.optimizer.precondition_frequency = 4;
  config.ema_decay = 0.9;
  Training whole(comm, small_net(), config), resumed(comm, small_net(), config);
  for (int step = 0; step < 6; ++step) whole.trainer.update();
  whole.trainer.show_average();
  const State state = whole.trainer.state();
  expect_same_bits_on_all_ranks(*comm, numbers_of(state));
  resumed.model->parameters().set(whole.trainer.raw_parameters());
  resumed.model->set_auxiliary_state(whole.model->auxiliary_state());
  resumed.trainer.set_state(state);
  EXPECT_EQ(resumed.trainer.potential_parameters(), whole.model->parameters().values());
  const double rounding = 1e-6;  // on a device: SOAP divides by what may be small
  for (int step = 0; step < 6; ++step)
    expect_same_sums({resumed.trainer.update().loss}, {whole.trainer.update().loss}, rounding);
  expect_same_sums(resumed.model->parameters().values(), whole.model->parameters().values(),
                   rounding);
  expect_same_sums(resumed.trainer.potential_parameters(), whole.trainer.potential_parameters(),
                   rounding);
  expect_same_sums(numbers_of(resumed.trainer.state()), numbers_of(whole.trainer.state()),
                   rounding);

  // a continuation may drop the average, or begin one
  config.ema_decay = 0.0;
  Training without(comm, small_net(), config);
  without.trainer.set_state(state);
  EXPECT_TRUE(without.trainer.potential_parameters().empty());
  const State plain = without.trainer.state();
  resumed.trainer.set_state(plain);
  EXPECT_TRUE(resumed.trainer.potential_parameters().empty());
  EXPECT_EQ(resumed.trainer.state(), plain);
}

// MD with the average builds a table between the steps of two labels, which counts toward the next check of the knots.
// A state taken amid MD must not cost one more: the checks, and the knots with them, would come at other steps.
TEST(Trainer, TheTableGoesOnWhereTheAverageIsShown)
{
  const auto comm = world();
  TrainingConfig config = configuration();
  config.ema_decay = 0.9;
  Training whole(comm, small_net(), config), resumed(comm, small_net(), config);
  const auto dynamics = [](Training &t) {
    const Frame &frame = t.trainer.frame(0);
    std::vector<double> force(3 * frame.nall());
    ForwardOutput out;
    out.force = force.data();
    t.trainer.show_average();
    t.model->forward(frame.domain(), out);
    return force;
  };
  const auto label = [&](Training &t) {
    for (int step = 0; step < 3; ++step) t.trainer.update();
    return dynamics(t);
  };
  label(whole);
  const std::vector<double> force = label(whole);
  resumed.model->parameters().set(whole.trainer.raw_parameters());
  resumed.trainer.set_state(whole.trainer.state());
  resumed.trainer.show_average();
  resumed.model->set_auxiliary_state(whole.model->auxiliary_state());
  // on a device forces are sums in any order, and Adam amplifies their rounding
  constexpr double amplified = 1e-8;
  expect_same_sums(dynamics(resumed), force, amplified);
  for (int k = 0; k < 7; ++k) {  // four tables each, a check after twenty
    SCOPED_TRACE("label " + std::to_string(k));
    EXPECT_EQ(resumed.model->auxiliary_state(), whole.model->auxiliary_state());
    const std::vector<double> continued = label(resumed);
    expect_same_sums(continued, label(whole), amplified);
  }
  expect_same_sums(resumed.trainer.raw_parameters(), whole.trainer.raw_parameters(), amplified);
}

TEST(Model, ParametersChangedInPlaceAreNewParameters)
{
  const Cluster cluster(12, 2, 5.0);
  const auto one = small_net(), two = small_net();
  evaluate(*one, cluster.domain());  // tables of the old parameters
  const std::uint64_t version = one->parameters().version();
  one->parameters().change([](std::vector<double> &x) { x[3] += 0.1; });
  EXPECT_GT(one->parameters().version(), version);
  std::vector<double> x = two->parameters().values();
  x[3] += 0.1;
  two->parameters().set(x);
  // the number of knots has a history: tables agree to their tolerance, 1e-12 relative
  const auto a = evaluate(*one, cluster.domain()).force, b = evaluate(*two, cluster.domain()).force;
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-11);
}

TEST(Trainer, TheAverageIsThatOfItsRecursion)
{
  const auto comm = world();
  TrainingConfig config = configuration();
  config.ema_decay = 0.8;
  Training t(comm, std::make_shared<ToyModel>(RCUT), config);
  t.trainer.show_average();  // nothing to show yet
  EXPECT_TRUE(t.trainer.potential_parameters().empty());
  std::vector<double> sum(8, 0.0);
  for (int step = 1; step <= 20; ++step) {
    t.trainer.update();
    const std::vector<double> &w = t.model->parameters().values();
    for (std::size_t k = 0; k < 8; ++k) sum[k] = 0.8 * sum[k] + 0.2 * w[k];
    const std::vector<double> average = t.trainer.potential_parameters();
    if (step == 1) {
      EXPECT_EQ(average, w);
    }
    // rounding of the sums
    for (std::size_t k = 0; k < 8; ++k)
      EXPECT_NEAR(average[k], sum[k] / (1.0 - std::pow(0.8, step)), 1e-14);
  }
}

TEST(Trainer, TheAverageBeginsWithTheFirstParametersWhereAsked)
{
  const auto comm = world();
  TrainingConfig config = configuration();
  config.ema_decay = 0.8;
  Training t(comm, std::make_shared<ToyModel>(RCUT), config);
  std::vector<double> expected = t.model->parameters().values();
  t.trainer.begin_average();
  EXPECT_EQ(t.trainer.potential_parameters(), expected);
  for (int step = 1; step <= 10; ++step) {
    t.trainer.update();
    t.trainer.begin_average();  // it has begun: nothing happens
    const std::vector<double> &w = t.model->parameters().values();
    const std::vector<double> average = t.trainer.potential_parameters();
    for (std::size_t k = 0; k < expected.size(); ++k) {
      expected[k] = 0.8 * expected[k] + 0.2 * w[k];
      EXPECT_NEAR(average[k], expected[k], 1e-14);  // rounding of the sums
    }
  }
}

TEST(Trainer, TheAverageIsShownWithoutATraceInTheTraining)
{
  const auto comm = world();
  TrainingConfig config = configuration();
  config.ema_decay = 0.9;
  Training shown(comm, std::make_shared<ToyModel>(RCUT), config);
  Training hidden(comm, std::make_shared<ToyModel>(RCUT), config);
  for (int step = 1; step <= 9; ++step) {
    shown.trainer.update();
    hidden.trainer.update();
    EXPECT_EQ(shown.model->parameters().values(), hidden.model->parameters().values());
    if (step % 3 != 0) continue;
    shown.trainer.show_average();
    const std::uint64_t version = shown.model->parameters().version();
    shown.trainer.show_average();  // again: nothing happens, and no table is to be built
    EXPECT_EQ(shown.model->parameters().version(), version);
    EXPECT_EQ(shown.model->parameters().values(), shown.trainer.potential_parameters());
    EXPECT_NE(shown.model->parameters().values(), hidden.model->parameters().values());
    EXPECT_EQ(shown.trainer.raw_parameters(), hidden.trainer.raw_parameters());
    EXPECT_EQ(shown.trainer.state(), hidden.trainer.state());
  }
  config.ema_decay = 1.0;
  expect_in("ema_decay",
            message_of([&] { Training(comm, std::make_shared<ToyModel>(RCUT), config); }));
}

}  // namespace dptrain::test
