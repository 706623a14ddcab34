// Single and mixed precision against double, and batches of frames against single calls, for tiny models of several kinds.
#include <cmath>
#include <functional>

#include "dptrain/base/error.h"
#include "dptrain/potential/model/model_data.h"
#include "potential/native/deep_pot.h"
#include "potential/native/gemm.h"
#include "support/kernel_data.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

struct Kind {
  friend void PrintTo(const Kind &k, std::ostream *out) { *out << k.name; }
  std::string name;
  ModelConfig config;
};

Kind kind(const std::string &name, int ntypes, const std::function<void(ModelConfig &)> &change)
{
  Kind k{name, tiny_config(ntypes)};
  change(k.config);
  return k;
}

std::vector<Kind> kinds()
{
  return {kind("one_side", 2, [](auto &) {}),
          kind("two_side", 3,
               [](auto &c) {
                 c.type_one_side = false;
                 c.resnet_dt = true;
               }),
          kind("direct", 2, [](auto &c) { c.activation = "relu"; }),
          kind("overflow", 2,
               [](auto &c) {
                 c.sel = {4, 6};
               }),
          kind("excluded", 2,
               [](auto &c) {
                 c.exclude_types = {{0, 1}};
                 c.pair_exclude_types = {{1, 1}};
               }),
          kind("atom_ener", 2, [](auto &c) {
            c.atom_ener = {-2.0, std::nullopt};
          })};
}

/// Results of both passes over a batch of clusters.
struct Batch {
  std::vector<Cluster> clusters;
  std::vector<Domain> domains;
  std::vector<Vec> residuals;
  std::vector<GradientSeed> seeds;

  Batch(const std::vector<int> &sizes, int ntypes)
  {
    RandomEngine engine(31);
    clusters.reserve(sizes.size());
    for (int size : sizes) {
      clusters.emplace_back(size, ntypes, 5.0, 0.9, 40 + size);
      domains.push_back(clusters.back().domain());
      residuals.push_back(random_vector(3 * size, engine));
    }
    for (std::size_t f = 0; f < sizes.size(); ++f) {
      GradientSeed seed;
      seed.energy = random_normal(engine);
      seed.force = f == 1 ? nullptr : residuals[f].data();  // a frame without forces
      for (double &w : seed.virial) w = 0.1 * random_normal(engine);
      seeds.push_back(seed);
    }
  }
  int size() const { return static_cast<int>(domains.size()); }
};

struct Outcome {
  Vec energies, network_energies, atom_energies, forces, virials, atom_virials, gradient;
};

void forward(Model &model, const Batch &batch, int begin, int n, bool keep, Outcome &all)
{
  std::vector<ForwardOutput> out(n);
  std::vector<Vec> force(n), atom_energy(n), atom_virial(n);
  for (int f = 0; f < n; ++f) {
    const std::size_t atoms = batch.domains[begin + f].nall;
    force[f].assign(3 * atoms, 0.0);
    atom_energy[f].assign(atoms, 0.0);
    atom_virial[f].assign(9 * atoms, 0.0);
    out[f].force = force[f].data();
    out[f].atom_energy = atom_energy[f].data();
    out[f].atom_virial = f == 0 ? atom_virial[f].data() : nullptr;
  }
  model.forward_batch(&batch.domains[begin], n, out.data(), keep);
  const auto append = [](Vec &to, const auto &from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (int f = 0; f < n; ++f) {
    all.energies.push_back(out[f].energy);
    all.network_energies.push_back(out[f].network_energy);
    append(all.forces, force[f]);
    append(all.atom_energies, atom_energy[f]);
    append(all.virials, out[f].virial);
    if (begin + f == 0) append(all.atom_virials, atom_virial[f]);
  }
}

void gradient(Model &model, const Batch &batch, int begin, int n, Outcome &all)
{
  Vec part(model.parameters().size(), NAN);  // nothing of what was there may be used
  model.gradient_batch(&batch.domains[begin], n, &batch.seeds[begin], part.data());
  all.gradient.resize(part.size(), 0.0);
  for (std::size_t k = 0; k < part.size(); ++k) all.gradient[k] += part[k];
}

Outcome together(Model &model, const Batch &batch, bool keep)
{
  Outcome all;
  forward(model, batch, 0, batch.size(), keep, all);
  gradient(model, batch, 0, batch.size(), all);
  return all;
}

Outcome one_by_one(Model &model, const Batch &batch)
{
  Outcome all;
  for (int f = 0; f < batch.size(); ++f) forward(model, batch, f, 1, false, all);
  for (int f = 0; f < batch.size(); ++f) gradient(model, batch, f, 1, all);
  return all;
}

void expect_same(const Outcome &a, const Outcome &b, double tolerance)
{
  expect_close(a.energies, b.energies, tolerance, "energy");
  expect_close(a.network_energies, b.network_energies, tolerance, "network energy");
  expect_close(a.atom_energies, b.atom_energies, tolerance, "atom energy");
  expect_close(a.forces, b.forces, tolerance, "force");
  expect_close(a.virials, b.virials, tolerance, "virial");
  expect_close(a.atom_virials, b.atom_virials, tolerance, "atom virial");
  expect_close(a.gradient, b.gradient, tolerance, "gradient");
}

class PrecisionTest : public testing::TestWithParam<Kind> {
 protected:
  ModelData data_ = tiny_model(GetParam().config);
  DeepPot model_{data_};
  // one frame is empty
  Batch batch_{{12, 17, 0, 5, 9}, GetParam().config.ntypes()};
};

// Relative to the largest number of each kind: some tens of units in the last place of float32.
TEST_P(PrecisionTest, SingleIsCloseToDouble)
{
  const Outcome expected = together(model_, batch_, true);
  EXPECT_EQ(model_.engine().is_direct(), GetParam().name == "direct");
  EXPECT_EQ(model_.overflow_count() > 0, GetParam().name == "overflow");
  DeepPot single(data_);
  single.set_precision(Precision::single);
  const Outcome found = together(single, batch_, true);
  expect_same(found, expected, 1e-5);
  EXPECT_NE(found.forces, expected.forces) << "nothing was computed in another precision";
  EXPECT_EQ(single.parameters(), data_.parameters);
}

TEST_P(PrecisionTest, PrecisionCanBeChangedBack)
{
  const Outcome before = together(model_, batch_, true);
  model_.set_precision(Precision::single);
  together(model_, batch_, true);
  model_.set_precision(Precision::float64);
  const Outcome after = together(model_, batch_, true);
  expect_same_sums(after.forces, before.forces);
  expect_same_sums(after.gradient, before.gradient);
}

// The same terms in another order: rounding alone.
TEST_P(PrecisionTest, BatchIsTheSumOfSingleFrames)
{
  const Outcome expected = one_by_one(model_, batch_);
  for (bool keep : {false, true}) {
    expect_same(together(model_, batch_, keep), expected, 1e-12);
    model_.set_chunk(4);  // chunks of atoms of several frames
    expect_same(together(model_, batch_, keep), expected, 1e-12);
    model_.set_chunk(128);
  }
}

TEST_P(PrecisionTest, SingleBatchIsTheSumOfSingleFrames)
{
  model_.set_precision(Precision::single);
  const Outcome expected = one_by_one(model_, batch_);
  for (bool keep : {false, true}) expect_same(together(model_, batch_, keep), expected, 1e-5);
}

TEST_P(PrecisionTest, KeptPassAChangesNothingForPassB)
{
  for (Precision precision : {Precision::float64, Precision::single}) {
    model_.set_precision(precision);
    model_.set_chunk(5);
    const double rounding = precision == Precision::single ? 1e-5 : 1e-13;
    Outcome alone, scratch;
    gradient(model_, batch_, 0, batch_.size(), alone);
    const Outcome kept = together(model_, batch_, true);
    expect_same_sums(kept.gradient, alone.gradient, rounding);  // the same sums in the same order
    // what was kept is used once: a second pass B stands on its own
    Outcome second;
    gradient(model_, batch_, 0, batch_.size(), second);
    expect_same_sums(second.gradient, alone.gradient, rounding);
    // another batch in between
    forward(model_, batch_, 0, batch_.size(), true, scratch);
    forward(model_, batch_, 1, 2, false, scratch);
    Outcome third;
    gradient(model_, batch_, 0, batch_.size(), third);
    expect_same_sums(third.gradient, alone.gradient, rounding);
  }
}

// What was kept belongs to the domains of that call, and is gone when a later call has failed.
TEST_P(PrecisionTest, WhatWasKeptIsForItsDomainsAlone)
{
  Outcome unused, alone, found;
  gradient(model_, batch_, 0, 2, alone);
  forward(model_, batch_, 0, batch_.size(), true, unused);
  gradient(model_, batch_, 0, 2, found);
  SCOPED_TRACE("fewer domains");
  expect_same_sums(found.gradient, alone.gradient);
  forward(model_, batch_, 3, 2, true, unused);
  Outcome other;
  gradient(model_, batch_, 0, 2, other);
  SCOPED_TRACE("other domains");
  expect_same_sums(other.gradient, alone.gradient);

  forward(model_, batch_, 0, 2, true, unused);
  Cluster broken = batch_.clusters[1];
  broken.x[3] = NAN;
  EXPECT_THROW(evaluate(model_, broken.domain()), Error);
  Outcome after;
  gradient(model_, batch_, 0, 2, after);
  SCOPED_TRACE("after a failure");
  expect_same_sums(after.gradient, alone.gradient);
}

// Nothing kept may be used for other parameters, another chunk size, another precision or another reach of the table.
TEST_P(PrecisionTest, WhatWasKeptIsForgottenWhenTheModelChanges)
{
  auto parameters = data_.parameters;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    parameters[k] *= 1.0 + 0.1 * std::sin(1.0 * k);
  ModelData changed = data_;
  changed.parameters = parameters;
  const auto after = [&](const std::function<void(DeepPot &)> &change) {
    DeepPot model(data_);
    Outcome unused, all;
    forward(model, batch_, 0, batch_.size(), true, unused);
    change(model);
    gradient(model, batch_, 0, batch_.size(), all);
    return all.gradient;
  };
  const Vec before = together(model_, batch_, false).gradient;
  DeepPot other(changed);
  const Vec expected = together(other, batch_, false).gradient;
  // tables of the two models may have other knots: 1e-12 of the interpolation, and its derivatives
  expect_close(after([&](DeepPot &m) { m.set_parameters(parameters); }), expected, 1e-10,
               "parameters");
  ASSERT_GT(largest(moved(expected, -1.0, before)), 1e-3 * largest(before));
  expect_close(after([](DeepPot &m) { m.set_chunk(3); }), before, 1e-12, "chunk");
  expect_close(after([](DeepPot &m) { m.expect_distance(0.3); }), before, 1e-10, "distance");
  const auto restored = [](double filled) {
    return [filled](DeepPot &m) {
      Vec state = m.auxiliary_state();
      state[0] = filled;
      state[1] *= 0.5;  // spacing, of more than twice as many knots
      state[2] = 2 * state[2] + 1;
      m.set_auxiliary_state(state);
    };
  };
  expect_close(after(restored(1.0)), before, 1e-10, "grid with its table");
  expect_close(after(restored(0.0)), before, 1e-10, "grid alone");
  expect_close(after([](DeepPot &m) { m.set_precision(Precision::single); }), before, 1e-5,
               "precision");
}

/// Wide enough for products in bfloat16: no side below 16.
struct Wide {
  ModelData data;
  Batch batch{{40, 0, 36}, 2};

  Wide()
  {
    ModelConfig config = tiny_config();
    config.neuron = {8, 16};
    config.axis_neuron = 4;
    config.fitting_neuron = {24, 24};
    data = tiny_model(config);
  }
  Outcome results(Precision precision, bool keep = true) const
  {
    DeepPot model(data);
    model.set_precision(precision);
    return together(model, batch, keep);
  }
};

// bfloat16 has 8 binary digits: each number of a product is off by up to 2^-9, the product in the same way. Through the
// three layers, there and back, and in both passes the errors add to a few times this.
TEST(MixedPrecision, IsCloseToDouble)
{
  const Wide wide;
  expect_same(wide.results(Precision::mixed), wide.results(Precision::float64), 1e-2);
}

TEST(MixedPrecision, DiffersFromSingleWhereTheDeviceHasSuchProducts)
{
  const Wide wide;
  const Outcome mixed = wide.results(Precision::mixed), single = wide.results(Precision::single);
  const auto differ = [](const Vec &a, const Vec &b) {
    return largest(moved(a, -1.0, b)) > 1e-5 * largest(b);
  };
  EXPECT_EQ(differ(mixed.forces, single.forces), ReducedPrecision::has_effect());
  EXPECT_EQ(differ(mixed.gradient, single.gradient), ReducedPrecision::has_effect());
  // a model in mixed precision leaves nothing behind for others
  expect_same_sums(wide.results(Precision::single).forces, single.forces);
}

TEST(MixedPrecision, KeptPassAChangesNothingForPassB)
{
  const Wide wide;
  const Outcome kept = wide.results(Precision::mixed, true);
  const Outcome again = wide.results(Precision::mixed, false);
  expect_same_sums(kept.forces, again.forces);
  expect_same_sums(kept.gradient, again.gradient, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Models, PrecisionTest, testing::ValuesIn(kinds()),
                         [](const auto &info) { return info.param.name; });

}  // namespace
}  // namespace dptrain::test
