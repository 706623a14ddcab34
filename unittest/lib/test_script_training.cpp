// What training asks of a TorchScript potential: gradients with respect to its parameters, and which of them are trained.

#include <gtest/gtest.h>

#include "dptrain/base/error.h"
#include "dptrain/parallel/communicator.h"
#include "dptrain/training/trainer.h"
#include "potential/torchscript/archive.h"
#include "potential/torchscript/script_model.h"
#include "support/both_passes.h"
#include "support/scratch.h"
#include "support/script_case.h"
#include "support/steps_on_host.h"
#include "training/parameter_rules.h"

namespace dptrain::test {

namespace {

/// Two domains with random weights of all results.
struct Seeds {
  std::vector<Frame> frames;
  std::vector<Domain> domains;
  std::vector<std::vector<double>> atom_energy, force;
  std::vector<GradientSeed> seeds;

  /// `parts`: which of energy, atom_energy, force and virial have weights.
  explicit Seeds(const std::string &parts)
  {
    Numbers random(3);
    const bool all = parts == "all";
    frames.push_back(one_rank_frame(script_frame(5, 9)));
    frames.push_back(one_rank_frame(random_frame(6, 7, cubic_box(7.0), false, 1.2)));
    const auto numbers = [&](std::size_t n) {
      std::vector<double> values(n);
      for (double &value : values) value = random(-1, 1);
      return values;
    };
    for (const Frame &frame : frames) {
      domains.push_back(frame.domain());
      atom_energy.push_back(numbers(frame.nlocal));
      force.push_back(numbers(frame.x.size()));
      seeds.emplace_back();
      if (all || parts == "energy") seeds.back().energy = random(0.5, 1);
      if (all || parts == "virial")
        for (double &w : seeds.back().virial) w = random(-1, 1);
    }
    for (std::size_t k = 0; k < seeds.size(); ++k) {
      if (all || parts == "atom_energy") seeds[k].atom_energy = atom_energy[k].data();
      if (all || parts == "force") seeds[k].force = force[k].data();
    }
  }

  int size() const { return static_cast<int>(domains.size()); }

  double scalar(Model &model) const
  {
    double s = 0.0;
    for (int k = 0; k < size(); ++k) {
      const ScriptResult r = script_results(model, domains[k]);
      s += seeds[k].energy * r.energy;
      for (std::size_t i = 0; i < r.atom_energy.size() && seeds[k].atom_energy; ++i)
        s += seeds[k].atom_energy[i] * r.atom_energy[i];
      for (std::size_t i = 0; i < r.force.size() && seeds[k].force; ++i)
        s += seeds[k].force[i] * r.force[i];
      for (int c = 0; c < 9; ++c) s += seeds[k].virial[c] * r.virial[c];
    }
    return s;
  }

  std::unique_ptr<Tape> tape(Model &model) const { return tape_of(model, domains.data(), size()); }
  std::vector<double> gradient(Model &model, Tape &tape) const
  {
    return gradient_of(model, tape, seeds.data());
  }
  /// Both passes, the second from graphs that the first has kept or not.
  std::vector<double> gradient(Model &model, bool keep) const
  {
    limit_kept_graphs(model, keep ? everything : nothing);
    return gradient(model, *tape(model));
  }

  static constexpr std::size_t everything = std::size_t(1) << 40, nothing = 1;  // bytes
};

struct Case {
  std::string toy, parts;
};

class ScriptGradient : public testing::TestWithParam<Case> {};

std::vector<Case> cases()
{
  std::vector<Case> all;
  for (const char *toy : {"local", "messages"})
    for (const char *parts : {"energy", "atom_energy", "force", "virial", "all"})
      all.push_back({toy, parts});
  for (const char *toy : {"fparam", "padding", "mixed"}) all.push_back({toy, "all"});
  return all;
}

const ParameterBlock &block_named(const Model &model, const std::string &end)
{
  for (const ParameterBlock &block : model.parameters().blocks())
    if (block.name.size() >= end.size() &&
        block.name.compare(block.name.size() - end.size(), end.size(), end) == 0)
      return block;
  throw Error("no parameter " + end);
}

std::vector<double> part(const std::vector<double> &all, const ParameterBlock &block)
{
  return {all.begin() + static_cast<long>(block.offset),
          all.begin() + static_cast<long>(block.offset + block.size)};
}

/// Names, without what stands before the last dot, of the blocks that are trained.
std::string trained(const Model &model)
{
  std::string names;
  for (const ParameterBlock &block : model.parameters().blocks())
    if (block.trainable) names += block.name.substr(block.name.rfind('.') + 1) + " ";
  return names;
}

}  // namespace

// Differences err by h^2 = 1e-10 times third derivatives, and by rounding 1e-16 / h: 1e-8 of the largest.
TEST_P(ScriptGradient, IsThatOfTheScalar)
{
  const auto model = script_model(script_toy_named(GetParam().toy));
  const Seeds seeds(GetParam().parts);
  const std::vector<double> parameters = model->parameters().values();
  std::vector<double> expected;
  const double h = 1e-5;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    double values[2];
    for (int side = 0; side < 2; ++side) {
      model->parameters().change([&](std::vector<double> &p) { p[k] += side ? -h : h; });
      values[side] = seeds.scalar(*model);
      model->parameters().set(parameters);
    }
    expected.push_back((values[0] - values[1]) / (2 * h));
  }
  const std::vector<double> found = seeds.gradient(*model, false);
  expect_same(expected, found, 1e-8, "gradient");
  for (const int chunk : {1, 3, 1000})
    for (const bool keep : {false, true}) {
      model->set_chunk(chunk);
      expect_same(found, seeds.gradient(*model, keep), 1e-12, "gradient of blocks");
    }
}

INSTANTIATE_TEST_SUITE_P(Toys, ScriptGradient, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.toy + "_" + info.param.parts; });

TEST(ScriptTraining, ATapeIsOfOneModelAndItsParameters)
{
  const auto model = script_model({}), other = script_model({});
  const Seeds seeds("all");
  const auto tape = seeds.tape(*model);
  EXPECT_THROW(seeds.gradient(*other, *tape), Error);
  model->parameters().set(std::vector<double>(model->parameters().values()));
  EXPECT_THROW(seeds.gradient(*model, *tape), Error);
}

// With message passing, blocks are whole frames and need the owners of ghosts too.
TEST(ScriptTraining, ATapeHasThePositionsOfPassA)
{
  for (const char *toy : {"local", "messages", "single"})
    for (const std::size_t limit : {Seeds::everything, Seeds::nothing}) {
      const auto model = script_model(script_toy_named(toy));
      model->set_chunk(4);
      limit_kept_graphs(*model, limit);
      Seeds seeds("all");
      const std::vector<double> expected = seeds.gradient(*model, *seeds.tape(*model));
      const auto tape = seeds.tape(*model);
      for (Frame &frame : seeds.frames) {
        std::fill(frame.x.begin(), frame.x.end(), 0.0);
        std::fill(frame.type.begin(), frame.type.end(), 0);
        std::fill(frame.owner.begin(), frame.owner.end(), 0);
      }
      EXPECT_EQ(seeds.gradient(*model, *tape), expected) << toy;
    }
}

// Two tapes at once and a sweep between; a second pass B makes the graphs again, in blocks of another size.
TEST(ScriptTraining, TapesAreIndependent)
{
  for (const std::size_t limit : {Seeds::everything, Seeds::nothing}) {
    const auto model = script_model({});
    limit_kept_graphs(*model, limit);
    const Seeds all("all"), energies("energy");
    const std::vector<double> of_all = all.gradient(*model, *all.tape(*model)),
                              of_energies = energies.gradient(*model, *energies.tape(*model));
    const auto first = all.tape(*model), second = energies.tape(*model);
    script_results(*model, all.domains[0]);
    EXPECT_EQ(all.gradient(*model, *first), of_all);
    EXPECT_EQ(energies.gradient(*model, *second), of_energies);
    model->set_chunk(3);
    expect_same(all.gradient(*model, *first), of_all, 1e-12, "a second time");
    model->release_workspace();
    expect_same(energies.gradient(*model, *second), of_energies, 1e-12, "a second time");
  }
}

// A program that has no memory for more than three centers: first nothing is kept, then blocks of 128 get smaller.
TEST(ScriptTraining, BlocksGetSmallerWhereMemoryRunsOut)
{
  ModelData data = script_data({});
  data.archive = with_edited_code(data.archive, "toy", [](std::string &code) {
    const std::size_t clamp = code.find("torch.clamp(");
    if (clamp == std::string::npos) return;
    const std::size_t line = code.rfind('\n', clamp) + 1;
    const std::string blanks(code.find_first_not_of(' ', line) - line, ' ');
    code.insert(line, blanks + "if torch.gt(n, 3):\n" + blanks +
                          "  ops.prim.RaiseException(\"CUDA out of memory\")\n" + blanks +
                          "else:\n" + blanks + "  pass\n");
  });
  ScriptModel scarce(data, "toy.pth");
  const auto model = script_model({});
  const Seeds seeds("all");
  expect_same(seeds.gradient(scarce, *seeds.tape(scarce)), seeds.gradient(*model, true), 1e-12,
              "gradient");
  EXPECT_EQ(scarce.memory_shortages().number, 7);  // 128, 128, 64, 32, 16, 8, 4
  EXPECT_EQ(scarce.memory_shortages().chunk, 2);
  expect_in("CUDA out of memory", scarce.memory_shortages().latest);
}

TEST(ScriptTraining, WhatIsTrainedMayChangeAfterPassA)
{
  const auto model = script_model({});
  const Seeds seeds("all");
  const std::vector<double> all = seeds.gradient(*model, true);
  const std::size_t blocks = model->parameters().blocks().size();
  model->parameters().set_trainable(std::vector<char>(blocks, 0));
  const auto tape = seeds.tape(*model);
  model->parameters().set_trainable(std::vector<char>(blocks, 1));
  EXPECT_EQ(seeds.gradient(*model, *tape), all);
}

TEST(ScriptTraining, SomeGraphsKeptAndOthersMadeAgain)
{
  const auto model = script_model({});
  model->set_chunk(1);
  const Seeds seeds("all");
  const std::vector<double> again = seeds.gradient(*model, false);
  // 1 MiB is what a center counts for where no larger block was measured: three centers of twelve are kept
  limit_kept_graphs(*model, std::size_t(3) << 20);
  expect_same(seeds.gradient(*model, *seeds.tape(*model)), again, 1e-12, "some graphs kept");
}

TEST(ScriptTraining, FixedParametersHaveNoGradient)
{
  const auto model = script_model({});
  const Seeds seeds("all");
  const std::vector<double> all = seeds.gradient(*model, true);
  std::vector<char> on(model->parameters().blocks().size(), 1);
  for (std::size_t k = 0; k < on.size(); ++k) {
    std::fill(on.begin(), on.end(), 1);
    on[k] = 0;
    model->parameters().set_trainable(on);
    for (const bool keep : {false, true}) {
      const std::vector<double> some = seeds.gradient(*model, keep);
      for (std::size_t b = 0; b < on.size(); ++b) {
        const ParameterBlock &block = model->parameters().blocks()[b];
        EXPECT_EQ(block.trainable, on[b] != 0);
        const std::vector<double> zero(block.size, 0.0);
        EXPECT_EQ(part(some, block), on[b] ? part(all, block) : zero) << block.name;
      }
    }
  }
  model->parameters().set_trainable({});
  EXPECT_EQ(seeds.gradient(*model, false), all);
}

TEST(ScriptTraining, NothingTrainedIsNoGradient)
{
  const auto model = script_model({});
  model->parameters().set_trainable(std::vector<char>(model->parameters().blocks().size(), 0));
  const std::vector<double> zero(model->parameters().size(), 0.0);
  EXPECT_EQ(Seeds("all").gradient(*model, true), zero);
}

TEST(ScriptTraining, WhatTheArchiveHoldsFixedStaysFixed)
{
  const auto model = script_model(script_toy_named("frozen"));
  EXPECT_EQ(trained(*model), "pair message w1 wf w2 ");
  const std::vector<double> gradient = Seeds("all").gradient(*model, true);
  const ParameterBlock fixed = block_named(*model, "b1");
  EXPECT_EQ(part(gradient, fixed), std::vector<double>(fixed.size, 0.0));
  apply_rules(model->parameters(), {{"b1"}, {}, {}});  // asked for by name
  EXPECT_EQ(trained(*model), "b1 ");
  const std::vector<double> own = part(Seeds("all").gradient(*model, true), fixed);
  EXPECT_NE(own, std::vector<double>(fixed.size, 0.0));
}

TEST(ParameterRules, PatternsChooseParameters)
{
  const auto trained_with = [](ParameterRules rules) {
    const auto model = script_model({});
    apply_rules(model->parameters(), rules);
    return trained(*model);
  };
  EXPECT_EQ(trained_with({}), "pair message w1 b1 wf w2 ");
  EXPECT_EQ(trained_with({{"fitting_net"}, {}, {}}), "w1 b1 wf w2 ");
  EXPECT_EQ(trained_with({{}, {"descriptor"}, {}}), "w1 b1 wf w2 ");
  EXPECT_EQ(trained_with({{"fitting_net"}, {"w2", "b1"}, {}}), "w1 wf ");
  EXPECT_EQ(trained_with({{"*.w1", "*.pair"}, {}, {}}), "pair w1 ");
  EXPECT_EQ(trained_with({{}, {"atomic_model.fitting_net.w?"}, {}}), "pair message b1 ");
  EXPECT_EQ(trained_with({{}, {}, {{"descriptor", 0.1}}}), "pair message w1 b1 wf w2 ");
}

TEST(ParameterRules, PatternsThatMatchNothingAreErrors)
{
  const auto message = [](const ParameterRules &rules) {
    return message_of([&] { apply_rules(script_model({})->parameters(), rules); });
  };
  for (const std::string &text : {message({{"fiting"}, {}, {}}), message({{}, {"fiting"}, {}}),
                                  message({{}, {}, {{"fiting", 2.0}}})}) {
    expect_in("name like fiting", text);
    expect_in("atomic_model.descriptor.pair", text);  // what names look like
  }
  expect_in("no parameter", message({{"w1*"}, {}, {}}));  // with * the whole name must match
  expect_in("leave none", message({{"w1"}, {"fitting_net"}, {}}));
}

TEST(ParameterRules, RatesScaleTheSteps)
{
  const auto model = script_model({});
  // of several that match the last counts
  RateFactors factors(model->parameters().blocks(),
                      {{}, {}, {{"fitting_net", 0.25}, {"w2", 3.0}, {"*.message", 0.0}}});
  std::vector<double> p(model->parameters().size(), 1.0), expected(p.size(), 2.0);
  const auto set = [&](const char *name, double value) {
    const ParameterBlock &block = block_named(*model, name);
    std::fill_n(expected.begin() + static_cast<long>(block.offset), block.size, value);
  };
  for (const char *name : {"w1", "b1", "wf"}) set(name, 1.25);
  set("w2", 4.0);
  set("message", 1.0);
  in_kernels(p, [&](kernels::Array<double> &array) { factors.begin(array.data()); });
  for (double &value : p) value += 1.0;
  in_kernels(p, [&](kernels::Array<double> &array) { factors.apply(array.data()); });
  EXPECT_EQ(p, expected);
}

TEST(ScriptTraining, TrainerChangesWhatItMay)
{
  TrainingConfig config;
  config.rules = {{"fitting_net"}, {"b1"}, {{"w2", 0.0}}};
  config.fit_energy_bias = false;
  const auto model = script_model({}), free = script_model({});
  const std::vector<double> before = model->parameters().values();
  Trainer trainer(model, make_mpi_communicator(), config);
  trainer.add(one_rank_frame(script_frame()));
  for (int step = 0; step < 3; ++step) trainer.update();
  for (const char *name : {"pair", "message", "b1", "w2"}) {
    const ParameterBlock &block = block_named(*model, name);
    EXPECT_EQ(part(model->parameters().values(), block), part(before, block)) << name;
  }
  const ParameterBlock &block = block_named(*model, "w1");
  EXPECT_NE(part(model->parameters().values(), block), part(before, block));
}

// A step in the direction of the gradient lowers the loss, for float32 too, whose parameters live in float64 here.
TEST(ScriptTraining, StepsLowerTheLoss)
{
  for (const char *name : {"local", "messages", "fparam", "single"}) {
    const auto model = script_model(script_toy_named(name));
    TrainingConfig config;
    config.schedule.start_lr = 3e-3;
    Trainer trainer(model, make_mpi_communicator(), config);
    trainer.add(one_rank_frame(script_frame()));
    const double first = trainer.update().rmse("f");
    double last = first;
    for (int step = 0; step < 40; ++step) last = trainer.update().rmse("f");
    EXPECT_LT(last, 0.95 * first) << name;
  }
}

}  // namespace dptrain::test
