// Sums of gradients over the ranks: whole, as bfloat16, and by PowerSGD.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "dptrain/base/error.h"
#include "dptrain/frames/distribution.h"
#include "dptrain/frames/whole_frame.h"
#include "dptrain/kernels/threads.h"
#include "dptrain/potential/native/deep_pot.h"
#include "dptrain/training/trainer.h"
#include "optimizer/partition.h"
#include "support/random_frame.h"
#include "support/steps_on_host.h"
#include "support/tiny_model.h"
#include "support/world.h"
#include "training/gradient_sum.h"

namespace dptrain::test {

namespace {

const std::vector<ParameterBlock> INDEX{
    {"w", {40, 30}, 0, 1200, true}, {"b", {30}, 1200, 30, true}, {"small", {3, 4}, 1230, 12, true}};
constexpr std::size_t SIZE = 1242;

ParallelConfig compressed(Compression compression, int rank = 2)
{
  ParallelConfig config;
  config.compression = compression;
  config.compression_rank = rank;
  return config;
}

std::unique_ptr<GradientSum> make(const std::shared_ptr<const Communicator> &comm,
                                  const ParallelConfig &config)
{
  return make_gradient_sum(comm, config, equal_parts(SIZE, comm->size()), INDEX);
}

std::vector<double> random_gradient(RandomEngine &random)
{
  std::vector<double> g(SIZE);
  for (double &x : g) x = random_normal(random);
  return g;
}

/// The exact sum over the ranks.
std::vector<double> whole_sum(const Communicator &comm, std::vector<double> g)
{
  comm.all_reduce_sum(g.data(), g.size());
  return g;
}

double norm(const std::vector<double> &v)
{
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

std::vector<double> difference(std::vector<double> a, const std::vector<double> &b)
{
  for (std::size_t k = 0; k < a.size(); ++k) a[k] -= b[k];
  return a;
}

std::int64_t bytes_of(const Communicator &comm)
{
  std::int64_t bytes = 0;
  for (const auto &t : comm.traffic()) bytes += t.bytes;
  return bytes;
}

void expect_same_on_all_ranks(const Communicator &comm, const std::vector<double> &v)
{
  std::vector<double> high = v, low = v;
  for (double &x : low) x = -x;
  comm.all_reduce_max(high.data(), high.size());
  comm.all_reduce_max(low.data(), low.size());
  for (std::size_t k = 0; k < v.size(); ++k) ASSERT_EQ(high[k], -low[k]);
}

}  // namespace

TEST(GradientSum, WholeSumsAreExact)
{
  const auto comm = world();
  RandomEngine random(1 + comm->rank());
  std::vector<double> g = random_gradient(random);
  const std::vector<double> expected = whole_sum(*comm, g);
  take_sum(*make(comm, {}), g);
  const Partition own(comm, equal_parts(SIZE, comm->size()));
  for (std::size_t k = own.begin; k < own.end; ++k) EXPECT_NEAR(g[k], expected[k], 1e-14);
}

// Eight bits of mantissa, once for each rank's share and once for the sum.
TEST(GradientSum, Bfloat16RoundsAndCatchesUp)
{
  const auto comm = world();
  if (comm->size() == 1) GTEST_SKIP() << "nothing travels";
  RandomEngine random(1 + comm->rank());
  const auto sum = make(comm, compressed(Compression::bfloat16));
  std::vector<double> total(SIZE, 0.0), exact(SIZE, 0.0);
  double first = 0.0;
  constexpr int STEPS = 50;
  for (int step = 0; step < STEPS; ++step) {
    std::vector<double> g = random_gradient(random);
    const std::vector<double> expected = whole_sum(*comm, g);
    take_sum(*sum, g);
    expect_same_on_all_ranks(*comm, g);
    for (std::size_t k = 0; k < SIZE; ++k) {
      total[k] += g[k];
      exact[k] += expected[k];
    }
    if (step == 0) first = norm(difference(g, expected)) / norm(expected);
  }
  EXPECT_GT(first, 1e-4);
  EXPECT_LT(first, 4e-3);
  // what rounding takes away comes later: the error of the total does not grow
  EXPECT_LT(norm(difference(total, exact)), 4e-3 * norm(exact) * 4.0 / std::sqrt(STEPS));
}

TEST(GradientSum, PowerSgdFindsWhatHasItsRank)
{
  const auto comm = world();
  if (comm->size() == 1) GTEST_SKIP() << "nothing travels";
  const auto sum = make(comm, compressed(Compression::power_sgd, 2));
  RandomEngine random(5);  // the same matrix of rank 2 on all ranks, in shares
  std::vector<double> a(80), b(60), matrix(SIZE, 0.0);
  for (double &x : a) x = random_normal(random);
  for (double &x : b) x = random_normal(random);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 30; ++j)
      for (int r = 0; r < 2; ++r) matrix[i * 30 + j] += a[2 * i + r] * b[2 * j + r];
  for (std::size_t k = 1200; k < SIZE; ++k) matrix[k] = random_normal(random);
  std::vector<double> g = matrix;
  for (double &x : g) x *= 2.0 * (comm->rank() + 1) / (comm->size() * (comm->size() + 1.0));
  take_sum(*sum, g);
  EXPECT_LT(norm(difference(g, matrix)), 1e-12 * norm(matrix));
  expect_same_on_all_ranks(*comm, g);
}

TEST(GradientSum, PowerSgdCatchesUpWithWhatItLeftOut)
{
  const auto comm = world();
  if (comm->size() == 1) GTEST_SKIP() << "nothing travels";
  const auto sum = make(comm, compressed(Compression::power_sgd, 4));
  RandomEngine random(11 + comm->rank());
  const std::vector<double> g = random_gradient(random), expected = whole_sum(*comm, g);
  std::vector<double> total(SIZE, 0.0);
  double first = 0.0;
  constexpr int STEPS = 400;
  for (int step = 0; step < STEPS; ++step) {
    std::vector<double> found = g;
    take_sum(*sum, found);
    if (step == 0) first = norm(difference(found, expected)) / norm(expected);
    for (std::size_t k = 0; k < SIZE; ++k) total[k] += found[k] / STEPS;
  }
  EXPECT_GT(first, 0.5);  // a random matrix of full rank
  EXPECT_LT(norm(difference(total, expected)), 0.05 * norm(expected));
}

TEST(GradientSum, LittleTravels)
{
  const auto comm = world();
  if (comm->size() == 1) GTEST_SKIP() << "nothing travels";
  RandomEngine random(3);
  const auto bytes_with = [&](const ParallelConfig &config) {
    const auto sum = make(comm, config);
    std::vector<double> g = random_gradient(random);
    const std::int64_t before = bytes_of(*comm);
    take_sum(*sum, g);
    if (!is_whole(config, comm->size()))
      comm->all_gather(g.data(), equal_parts(SIZE, comm->size()));
    return bytes_of(*comm) - before;
  };
  const std::int64_t whole = bytes_with({});
  EXPECT_LT(bytes_with(compressed(Compression::bfloat16)), 0.3 * whole);
  // of 1200 numbers 2 (40 + 30) travel
  EXPECT_LT(bytes_with(compressed(Compression::power_sgd)), 0.2 * whole);
}

// The gradient, and with it the optimizer, is whole on every rank.
TEST(GradientSum, CompressedTrainingsLearnAsWell)
{
  const auto comm = world();
  const auto train = [&](const ParallelConfig &parallel) {
    TrainingConfig config;
    config.batch_size = 2;
    config.parallel = parallel;
    config.parallel.check_every = 10;
    config.schedule.start_lr = 3e-3;
    config.fit_energy_bias = false;
    ModelConfig shape = tiny_config();
    shape.fitting_neuron = {24, 24};
    const auto model = make_deep_pot(tiny_model(shape));
    Trainer trainer(model, comm, config);
    for (int k = 0; k < 4; ++k)
      trainer.add(scatter_frame(comm, random_frame(k + 1, 24, skewed_box(6.5), true, 1.3), 4.0));
    const double before = trainer.stored_errors({0, 1, 2, 3}).loss;
    for (int step = 0; step < 100; ++step) trainer.update();
    expect_same_on_all_ranks(*comm, model->parameters().values());
    return trainer.stored_errors({0, 1, 2, 3}).loss / before;
  };
  // the loss falls by 6 % (labels are random numbers); compressed ones keep nine tenths of that
  const double whole = train({});
  EXPECT_LT(whole, 0.95);
  EXPECT_LT(train(compressed(Compression::bfloat16)), 1.0 - 0.9 * (1.0 - whole));
  EXPECT_LT(train(compressed(Compression::power_sgd)), 1.0 - 0.9 * (1.0 - whole));
  // nothing travels; but on a device forces are sums in any order
  if (comm->size() == 1) {
    EXPECT_NEAR(train(compressed(Compression::power_sgd)), whole, runs_on_gpu() ? 1e-9 : 0.0);
  }
}

TEST(ParameterCheck, RanksThatDifferAreFound)
{
  const auto comm = world();
  if (comm->size() == 1) GTEST_SKIP() << "there is nobody to compare with";
  TrainingConfig config;
  config.parallel.check_every = 2;
  config.fit_energy_bias = false;
  // without a division each rank keeps what it has
  config.parallel.compression = Compression::bfloat16;
  const auto model = make_deep_pot(tiny_model(tiny_config()));
  Trainer trainer(model, comm, config);
  trainer.add(scatter_frame(comm, random_frame(1, 24, skewed_box(6.5), true, 1.3), 4.0));
  trainer.update();
  trainer.update();
  if (comm->rank() == 1)
    model->parameters().change([](std::vector<double> &p) { p[3] = std::nextafter(p[3], 9.0); });
  trainer.update();
  try {
    trainer.update();
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("the ranks have different parameters"),
              std::string::npos);
  }
}

TEST(MicroBatches, GradientAndReportAreThoseOfTheBatch)
{
  const auto comm = world();
  const auto gradient_of = [&](int micro, UpdateReport &report) {
    TrainingConfig config;
    config.parallel.micro_batch = micro;
    config.loss.prefactors["v"] = {0.1, 0.1};
    Trainer trainer(make_deep_pot(tiny_model(tiny_config())), comm, config);
    for (int k = 0; k < 5; ++k)
      trainer.add(
          scatter_frame(comm, random_frame(k + 1, 10 + k, skewed_box(6.0), true, 1.3), 4.0));
    std::vector<double> gradient;
    report = trainer.loss_gradient({0, 1, 2, 3, 4}, gradient);
    return gradient;
  };
  UpdateReport expected, found;
  const std::vector<double> whole = gradient_of(0, expected);
  for (const int micro : {1, 2, 5, 9}) {
    const std::vector<double> g = gradient_of(micro, found);
    EXPECT_LT(norm(difference(g, whole)), 1e-12 * norm(whole));
    EXPECT_NEAR(found.loss, expected.loss, 1e-12 * expected.loss);
    EXPECT_NEAR(found.rmse("e"), expected.rmse("e"), 1e-12 * expected.rmse("e"));
    EXPECT_NEAR(found.rmse("v"), expected.rmse("v"), 1e-12 * expected.rmse("v"));
  }
}

}  // namespace dptrain::test
