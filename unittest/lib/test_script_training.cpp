// What training asks of a TorchScript potential: gradients with respect to its parameters, and which of them are trained.

#include <gtest/gtest.h>

#include "dptrain/error.h"
#include "dptrain/trainer.h"
#include "support/scratch.h"
#include "support/script_case.h"
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

  /// Pass B; with `keep` after a pass A that keeps its graphs.
  std::vector<double> gradient(Model &model, bool keep) const
  {
    std::vector<double> gradient(model.parameters().size(), 1e30);  // to be replaced, not added to
    if (keep) {
      std::vector<std::vector<double>> forces;
      std::vector<ForwardOutput> out(size());
      for (int k = 0; k < size(); ++k) {
        forces.emplace_back(3 * domains[k].nall, 0.0);
        out[k].force = forces.back().data();
      }
      model.forward_batch(domains.data(), size(), out.data(), true);
    }
    model.gradient_batch(domains.data(), size(), seeds.data(), gradient.data());
    return gradient;
  }
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
  for (const ParameterBlock &block : model.parameter_index())
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
  for (const ParameterBlock &block : model.parameter_index())
    if (block.trainable) names += block.name.substr(block.name.rfind('.') + 1) + " ";
  return names;
}

}  // namespace

// Differences err by h^2 = 1e-10 times third derivatives, and by rounding 1e-16 / h: 1e-8 of the largest.
TEST_P(ScriptGradient, IsThatOfTheScalar)
{
  const auto model = script_model(script_toy_named(GetParam().toy));
  const Seeds seeds(GetParam().parts);
  const std::vector<double> parameters = model->parameters();
  std::vector<double> expected;
  const double h = 1e-5;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    double values[2];
    for (int side = 0; side < 2; ++side) {
      model->change_parameters([&](std::vector<double> &p) { p[k] += side ? -h : h; });
      values[side] = seeds.scalar(*model);
      model->set_parameters(parameters);
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

TEST(ScriptTraining, GraphsOfOldParametersAreNotUsed)
{
  const auto model = script_model({}), fresh = script_model({});
  const Seeds seeds("all");
  std::vector<double> changed = model->parameters();
  for (double &p : changed) p *= 1.1;
  std::vector<std::vector<double>> forces;
  std::vector<ForwardOutput> out(seeds.size());
  for (int k = 0; k < seeds.size(); ++k) {
    forces.emplace_back(3 * seeds.domains[k].nall, 0.0);
    out[k].force = forces.back().data();
  }
  model->forward_batch(seeds.domains.data(), seeds.size(), out.data(), true);
  model->set_parameters(changed);
  fresh->set_parameters(changed);
  std::vector<double> found(changed.size());
  model->gradient_batch(seeds.domains.data(), seeds.size(), seeds.seeds.data(), found.data());
  EXPECT_EQ(found, seeds.gradient(*fresh, false));
}

TEST(ScriptTraining, SomeGraphsKeptAndOthersMadeAgain)
{
  const auto model = script_model({});
  model->set_chunk(1);
  const Seeds seeds("all");
  const std::vector<double> again = seeds.gradient(*model, false);
  // 1 MiB is what a centre counts for where no larger block was measured: three centres of twelve are kept
  limit_kept_graphs(*model, std::size_t(3) << 20);
  expect_same(seeds.gradient(*model, true), again, 1e-12, "gradient with some graphs kept");
}

TEST(ScriptTraining, FixedParametersHaveNoGradient)
{
  const auto model = script_model({});
  const Seeds seeds("all");
  const std::vector<double> all = seeds.gradient(*model, true);
  std::vector<char> on(model->parameter_index().size(), 1);
  for (std::size_t k = 0; k < on.size(); ++k) {
    std::fill(on.begin(), on.end(), 1);
    on[k] = 0;
    model->set_trainable(on);
    for (const bool keep : {false, true}) {
      const std::vector<double> some = seeds.gradient(*model, keep);
      for (std::size_t b = 0; b < on.size(); ++b) {
        const ParameterBlock &block = model->parameter_index()[b];
        EXPECT_EQ(block.trainable, on[b] != 0);
        const std::vector<double> zero(block.size, 0.0);
        EXPECT_EQ(part(some, block), on[b] ? part(all, block) : zero) << block.name;
      }
    }
  }
  model->set_trainable({});
  EXPECT_EQ(seeds.gradient(*model, false), all);
}

TEST(ScriptTraining, NothingTrainedIsNoGradient)
{
  const auto model = script_model({});
  model->set_trainable(std::vector<char>(model->parameter_index().size(), 0));
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
  with_rules(model, {{"b1"}, {}, {}});  // asked for by name
  EXPECT_EQ(trained(*model), "b1 ");
  const std::vector<double> own = part(Seeds("all").gradient(*model, true), fixed);
  EXPECT_NE(own, std::vector<double>(fixed.size, 0.0));
}

TEST(ParameterRules, PatternsChooseParameters)
{
  const auto trained_with = [](ParameterRules rules) {
    return trained(*with_rules(script_model({}), rules));
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
    return message_of([&] { with_rules(script_model({}), rules); });
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
  RateFactors factors(model->parameter_index(),
                      {{}, {}, {{"fitting_net", 0.25}, {"w2", 3.0}, {"*.message", 0.0}}});
  std::vector<double> p(model->parameters().size(), 1.0), expected(p.size(), 2.0);
  const auto set = [&](const char *name, double value) {
    const ParameterBlock &block = block_named(*model, name);
    std::fill_n(expected.begin() + static_cast<long>(block.offset), block.size, value);
  };
  for (const char *name : {"w1", "b1", "wf"}) set(name, 1.25);
  set("w2", 4.0);
  set("message", 1.0);
  factors.begin(p);
  for (double &value : p) value += 1.0;
  factors.apply(p);
  EXPECT_EQ(p, expected);
}

TEST(ScriptTraining, TrainerChangesWhatItMay)
{
  TrainingConfig config;
  config.rules = {{"fitting_net"}, {"b1"}, {{"w2", 0.0}}};
  config.fit_energy_bias = false;
  const auto model = script_model({}), free = script_model({});
  const std::vector<double> before = model->parameters();
  Trainer trainer(model, make_mpi_communicator(), config);
  trainer.add(one_rank_frame(script_frame()));
  for (int step = 0; step < 3; ++step) trainer.update();
  for (const char *name : {"pair", "message", "b1", "w2"}) {
    const ParameterBlock &block = block_named(*model, name);
    EXPECT_EQ(part(model->parameters(), block), part(before, block)) << name;
  }
  const ParameterBlock &block = block_named(*model, "w1");
  EXPECT_NE(part(model->parameters(), block), part(before, block));
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
    const double first = trainer.update().rmse_f;
    double last = first;
    for (int step = 0; step < 40; ++step) last = trainer.update().rmse_f;
    EXPECT_LT(last, 0.95 * first) << name;
  }
}

}  // namespace dptrain::test
