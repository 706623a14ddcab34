// What a step costs on a device, in numbers that do not depend on the machine: kernels that are launched one by one, graphs, copies
// between host and device. `tools/rehearse count` prints them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/evaluator.h"
#include "dptrain/training/trainer.h"
#include "kernels/graph.h"
#include "kernels/memory.h"
#include "potential/native/deep_pot.h"
#include "support/power_spectrum_model.h"
#include "support/random_frame.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

constexpr int atoms = 64;

/// Counters of a step.
struct Counts {
  std::int64_t launches, products, graphs, commands, copies, bytes, allocations;
};

template <class Work> Counts counts_of(const Work &work)
{
  const kernels::Counters before = kernels::counters();
  work();
  const kernels::Counters &after = kernels::counters();
  return {after.launches - before.launches,      after.products - before.products,
          after.graphs - before.graphs,          after.commands - before.commands,
          after.copies - before.copies,          after.copied - before.copied,
          after.allocations - before.allocations};
}

void print(const char *what, const std::string &model, const Counts &c)
{
  const auto number = [](std::int64_t n) { return static_cast<int>(n); };
  std::printf("%s (%s, %d atoms): %d launches, %d products, %d graphs of %d commands, %d copies of "
              "%d bytes\n",
              what, model.c_str(), atoms, number(c.launches), number(c.products), number(c.graphs),
              number(c.commands), number(c.copies), number(c.bytes));
}

struct CountCase {
  std::string name;
  ModelData data;
  OptimizerType optimizer;
  Precision precision;
  friend void PrintTo(const CountCase &c, std::ostream *out) { *out << c.name; }
};

ModelData power_spectrum_data(const PowerSpectrumConfig &settings)
{
  ModelData data = power_spectrum_model(2, settings, 4.0);
  data.config.fitting_neuron = {48, 48, 48};
  data.parameters.clear();
  RandomEngine engine(3);
  for (const auto &block : parameter_index(data.config))
    for (std::size_t k = 0; k < block.size; ++k)
      data.parameters.push_back(0.1 * random_normal(engine));
  return data;
}

CountCase power_spectrum_case(Precision precision)
{
  return {precision == Precision::single ? "power_spectrum_single" : "power_spectrum",
          power_spectrum_data(PowerSpectrumConfig()), OptimizerType::soap, precision};
}

CountCase se_e2_a_case()
{
  ModelConfig config = tiny_config();
  se_e2_a(config).sel = {60, 60};
  config.fitting_neuron = {120, 120};
  config.atom_ener = {-2.0, std::nullopt};
  return {"se_e2_a", tiny_model(config), OptimizerType::adam, Precision::float64};
}

class StepCounts : public testing::TestWithParam<CountCase> {
 protected:
  void SetUp() override
  {
    if (!kernels::has_graphs()) GTEST_SKIP() << "the counts are those of a device";
    model_ = std::make_shared<DeepPot>(GetParam().data);
    model_->set_precision(GetParam().precision);
  }
  Frame frame(unsigned seed) const
  {
    return scatter_frame(comm_, random_frame(seed, atoms, skewed_box(9.0), true, 1.4),
                         model_->cutoff());
  }

  std::shared_ptr<const Communicator> comm_ = make_mpi_communicator();
  std::shared_ptr<DeepPot> model_;
};

// The first steps take memory, record, and find the bases of SOAP. After that parameters, gradient and moments stay on the device, and
// so do the frames: forces come out, what the loss makes of them goes in, and a few numbers.
TEST_P(StepCounts, OfATrainingStep)
{
  TrainingConfig training;
  training.optimizer.type = GetParam().optimizer;
  training.optimizer.precondition_frequency = 1000;
  training.schedule.start_lr = 1e-5;
  training.ema_decay = 0.9;
  Trainer trainer(model_, comm_, training);
  const int nall = trainer.frame(trainer.add(frame(1))).nall();
  kernels::set_graphs(false);
  for (int k = 0; k < 6; ++k) trainer.update();
  print("training step without graphs", GetParam().name, counts_of([&] { trainer.update(); }));
  kernels::set_graphs(true);
  for (int k = 0; k < 6; ++k) trainer.update();
  const Counts c = counts_of([&] { trainer.update(); });
  print("training step", GetParam().name, c);
  EXPECT_EQ(c.allocations, 0);
  // two elements have edges; length of the gradient, and average of the weights
  EXPECT_LE(c.launches, 5);
  EXPECT_EQ(c.products, 0) << "outside of graphs";
  EXPECT_GE(c.graphs, 2);
  EXPECT_LE(c.graphs, 4);
  EXPECT_LE(c.commands, 170);
  EXPECT_LE(c.copies, 6);
  // residuals and forces of all atoms, with room, and for each center its energy and what the loss makes of it
  const std::int64_t of_atoms = (3 + 3) * 8L * nall + (3 * 256 + 2L * atoms) * 8;
  EXPECT_LE(c.bytes, of_atoms + 4096);
  EXPECT_LT(of_atoms + 4096, static_cast<std::int64_t>(8 * model_->parameters().size()))
      << "a copy of all parameters would not be seen";
}

TEST_P(StepCounts, OfAStepOfDynamics)
{
  Frame atoms_of_step = frame(2);
  Evaluator evaluator(model_);
  std::vector<double> force(3 * atoms_of_step.nall());
  const auto step = [&] {
    for (double &x : atoms_of_step.x) x += 1e-4;
    ForwardOutput out;
    out.force = force.data();
    evaluator.step(atoms_of_step.domain(), out);
  };
  kernels::set_graphs(false);
  for (int k = 0; k < 4; ++k) step();
  print("MD step without graphs", GetParam().name, counts_of(step));
  kernels::set_graphs(true);
  for (int k = 0; k < 4; ++k) step();
  const Counts c = counts_of(step);
  print("MD step", GetParam().name, c);
  EXPECT_EQ(c.allocations, 0);
  EXPECT_LE(c.launches, 8);
  EXPECT_EQ(c.products, 0) << "outside of graphs";
  EXPECT_EQ(c.graphs, 1);
  EXPECT_LE(c.commands, 50);
  // positions, their grid, what is found of the neighbors, and the results
  EXPECT_LE(c.copies, 5);
}

INSTANTIATE_TEST_SUITE_P(Models, StepCounts,
                         testing::Values(power_spectrum_case(Precision::float64),
                                         power_spectrum_case(Precision::single), se_e2_a_case()),
                         [](const auto &info) { return info.param.name; });

/// Parameters after steps between which shapes, parameters, arguments and memory change.
std::vector<double> trained(OptimizerType optimizer, bool graphs)
{
  kernels::set_graphs(graphs);
  const auto comm = make_mpi_communicator();
  const auto model = std::make_shared<DeepPot>(power_spectrum_model(2, small_power_spectrum()));
  TrainingConfig training;
  training.optimizer.type = optimizer;
  training.optimizer.precondition_frequency = 3;
  training.schedule.start_lr = 1e-3;
  training.ema_decay = 0.9;
  Trainer trainer(model, comm, training);
  for (unsigned seed = 1; seed < 4; ++seed)
    trainer.add(scatter_frame(comm, random_frame(seed, 20, skewed_box(6.0), true, 1.2), 3.2));
  const Frame other = scatter_frame(comm, random_frame(9, 26, skewed_box(7.0), true, 1.2), 3.2);
  const std::int64_t before = kernels::counters().graphs;
  for (int k = 0; k < 30; ++k) {
    trainer.update();
    if (k % 5 == 2) trainer.errors({&other});  // other shapes, which take memory
    if (k % 7 == 3) trainer.show_average();    // other parameters
    if (k == 12) model->set_walls(Walls());    // other terms
    if (k == 15) model->release_workspace();   // other memory
  }
  EXPECT_EQ(kernels::counters().graphs > before, graphs);
  kernels::set_graphs(true);
  return trainer.raw_parameters();
}

double largest_difference(const std::vector<double> &a, const std::vector<double> &b)
{
  double most = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}

// The numbers of one run differ from those of the next because sums are atomic: by rounding with Adam, and by what SOAP makes of it,
// which divides by small numbers. Steps are of size 1e-3.
TEST(Graphs, DoWhatSingleCommandsDo)
{
  if (!kernels::has_graphs()) GTEST_SKIP() << "there are none";
  EXPECT_LT(
      largest_difference(trained(OptimizerType::adam, true), trained(OptimizerType::adam, false)),
      1e-9);
  const std::vector<double> single = trained(OptimizerType::soap, false);
  double noise = 0.0;
  for (int run = 0; run < 6; ++run)
    noise = std::max(noise, largest_difference(trained(OptimizerType::soap, false), single));
  const double found = largest_difference(trained(OptimizerType::soap, true), single);
  EXPECT_GT(noise, 0.0);
  EXPECT_LT(found, 10.0 * noise);
}

}  // namespace
}  // namespace dptrain::test
