// The native potential against an evaluation written down naively, finite differences and symmetries.
#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <functional>
#include <limits>

#include "dptrain/base/error.h"
#include "dptrain/potential/model/model_data.h"
#include "dptrain/potential/native/deep_pot.h"
#include "potential/descriptor/se_e2_a.h"
#include "potential/native/deep_pot.h"
#include "support/both_passes.h"
#include "support/kernel_data.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

struct Case {
  std::string name;
  ModelConfig config;
};

Case make_case(const std::string &name, int ntypes,
               const std::function<void(ModelConfig &)> &change)
{
  Case c{name, tiny_config(ntypes)};
  change(c.config);
  return c;
}

std::vector<Case> cases()
{
  return {
      make_case("plain", 2, [](auto &) {}),
      make_case("two_side", 3,
                [](auto &c) {
                  se_e2_a(c).type_one_side = false;
                  se_e2_a(c).resnet_dt = true;
                  se_e2_a(c).neuron = {6, 6, 12};
                }),
      make_case("excluded", 2,
                [](auto &c) {
                  se_e2_a(c).exclude_types = {{0, 1}};
                  c.pair_exclude_types = {{1, 1}};
                }),
      make_case("atom_excluded", 2, [](auto &c) { c.atom_exclude_types = {1}; }),
      make_case("davg_zero", 2,
                [](auto &c) {
                  se_e2_a(c).set_davg_zero = true;
                  se_e2_a(c).env_protection = 0.01;
                }),
      make_case("vacuum", 2,
                [](auto &c) {
                  c.atom_ener = {-2.0, std::nullopt};
                }),
      make_case("overflow", 2,
                [](auto &c) {
                  se_e2_a(c).sel = {4, 6};
                }),
      make_case("gelu_softplus", 2,
                [](auto &c) {
                  se_e2_a(c).activation = "gelu";
                  c.fitting_activation = "softplus";
                }),
      make_case("silut_sigmoid", 2,
                [](auto &c) {
                  se_e2_a(c).activation = "silut:1.0";
                  c.fitting_activation = "sigmoid";
                }),
      make_case("relu6_relu", 2,
                [](auto &c) {
                  se_e2_a(c).activation = "relu6";
                  c.fitting_activation = "relu";
                }),
  };
}

class DeepPotTest : public testing::TestWithParam<Case> {
 protected:
  ModelData data_ = tiny_model(GetParam().config);
  DeepPot model_{data_};
  Cluster cluster_{16, GetParam().config.ntypes(), 5.5};
  bool kinks_ = se_e2_a(GetParam().config).activation == "relu6";
};

TEST_P(DeepPotTest, ForcesAndVirialAreDerivativesOfTheEnergy)
{
  const Result r = evaluate(model_, cluster_.domain());
  const double h = 1e-5;
  double largest = 0.0;
  for (double f : r.force) largest = std::max(largest, std::abs(f));
  ASSERT_GT(largest, 1e-3);
  // central differences: h^2 = 1e-10 times third derivatives in 1/Angstrom^3; kinks of relu6 may lie inside a step
  const double tolerance = 1e-6 * largest;
  int bad = 0;
  for (std::size_t k = 0; k < cluster_.x.size(); ++k) {
    const double keep = cluster_.x[k];
    cluster_.x[k] = keep + h;
    const double plus = evaluate(model_, cluster_.domain()).energy;
    cluster_.x[k] = keep - h;
    const double minus = evaluate(model_, cluster_.domain()).energy;
    cluster_.x[k] = keep;
    if (std::abs(-(plus - minus) / (2.0 * h) - r.force[k]) > tolerance) ++bad;
  }
  EXPECT_LE(bad, kinks_ ? 2 : 0);

  const auto strained = [&](int a, int b, double e) {
    Cluster c = cluster_;
    for (std::size_t i = 0; i < c.type.size(); ++i) c.x[3 * i + a] += e * c.x[3 * i + b];
    c.link();
    return evaluate(model_, c.domain()).energy;
  };
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const double numeric = -(strained(a, b, 1e-6) - strained(a, b, -1e-6)) / 2e-6;
      EXPECT_NEAR(r.virial[3 * a + b], numeric, (kinks_ ? 1e-3 : 1e-6) * (1.0 + std::abs(numeric)));
    }
}

TEST_P(DeepPotTest, InvariantUnderRotationTranslationPermutation)
{
  const Result before = evaluate(model_, cluster_.domain());
  Cluster moved = cluster_;
  const double c = std::cos(0.7), s = std::sin(0.7);
  const int n = static_cast<int>(moved.type.size());
  for (int i = 0; i < n; ++i) {  // rotation about z, shift, reversed order
    const double *p = &cluster_.x[3 * i];
    double *q = &moved.x[3 * (n - 1 - i)];
    q[0] = c * p[0] - s * p[1] + 3.0;
    q[1] = s * p[0] + c * p[1] - 1.0;
    q[2] = p[2] + 0.5;
    moved.type[n - 1 - i] = cluster_.type[i];
  }
  moved.link();
  const Result after = evaluate(model_, moved.domain());
  EXPECT_NEAR(before.energy, after.energy, 1e-11 * std::abs(before.energy));  // rounding only
  for (int i = 0; i < n; ++i) {
    const double *f = &before.force[3 * i], *g = &after.force[3 * (n - 1 - i)];
    EXPECT_NEAR(c * f[0] - s * f[1], g[0], 1e-10);
    EXPECT_NEAR(s * f[0] + c * f[1], g[1], 1e-10);
    EXPECT_NEAR(f[2], g[2], 1e-10);
    EXPECT_NEAR(before.atom_energy[i], after.atom_energy[n - 1 - i], 1e-11);
  }
}

TEST_P(DeepPotTest, ChunksChangeNothing)
{
  const Result whole = evaluate(model_, cluster_.domain());
  model_.set_chunk(3);
  const Result chunked = evaluate(model_, cluster_.domain());
  for (std::size_t k = 0; k < whole.force.size(); ++k)
    EXPECT_NEAR(whole.force[k], chunked.force[k], 1e-12);
  EXPECT_NEAR(whole.energy, chunked.energy, 1e-12);
}

// dS/dtheta for S = c E + sum c_i E_i + r.F + C:W by differences of E, E_i, F and W themselves.
TEST_P(DeepPotTest, ParameterGradient)
{
  const int n = static_cast<int>(cluster_.type.size());
  RandomEngine engine(21);
  std::vector<double> r(3 * n);
  for (double &v : r) v = random_normal(engine);
  std::vector<double> c(n);
  for (double &v : c) v = random_normal(engine);
  GradientSeed seed;
  seed.energy = 0.7;
  seed.atom_energy = c.data();
  seed.force = r.data();
  for (double &v : seed.virial) v = 0.1 * random_normal(engine);
  ModelData fixed = data_;
  fixed.knots =
      257;  // no search for the number of knots at every difference; error far below the tolerance
  DeepPot model(fixed);
  const auto scalar = [&](const std::vector<double> &parameters) {
    model.parameters().set(parameters);
    const Result out = evaluate(model, cluster_.domain());
    double s = seed.energy * out.energy;
    for (int i = 0; i < n; ++i) s += c[i] * out.atom_energy[i];
    for (int k = 0; k < 3 * n; ++k) s += r[k] * out.force[k];
    for (int k = 0; k < 9; ++k) s += seed.virial[k] * out.virial[k];
    return s;
  };
  const Domain domain = cluster_.domain();
  const std::vector<double> gradient = gradient_of(model_, &domain, 1, &seed);
  double largest = 0.0;
  for (double g : gradient) largest = std::max(largest, std::abs(g));
  ASSERT_GT(largest, 0.1);
  const double h = 1e-5;
  int bad = 0;
  for (std::size_t k = 0; k < gradient.size(); k += 7) {
    auto plus = data_.parameters, minus = data_.parameters;
    plus[k] += h;
    minus[k] -= h;
    const double numeric = (scalar(plus) - scalar(minus)) / (2.0 * h);
    // h^2 = 1e-10 times third derivatives
    if (std::abs(gradient[k] - numeric) > 1e-6 * largest) ++bad;
  }
  EXPECT_LE(bad, kinks_ ? 8 : 0);
}

// A pair that comes closer than the table knows: energy and force still belong together, whatever the distance.
TEST_P(DeepPotTest, CloseApproachNeverClamps)
{
  for (double r : {0.8, 0.3, 0.05}) {
    Cluster pair(2, 1, 5.0);
    pair.type = {0, 1 % GetParam().config.ntypes()};
    const auto energy = [&](double distance) {
      pair.x = {0.0, 0.0, 0.0, distance, 0.0, 0.0};
      return evaluate(model_, pair.domain());
    };
    const double h = 1e-6;
    const double numeric = -(energy(r + h).energy - energy(r - h).energy) / (2.0 * h);
    EXPECT_NEAR(energy(r).force[3], numeric, 1e-5 * (1.0 + std::abs(numeric))) << r;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DeepPotTest, testing::ValuesIn(cases()),
                         [](const auto &info) { return info.param.name; });

TEST(DeepPot, SubsetsOfCentersAddUp)
{
  DeepPot model(tiny_model(tiny_config()));
  Cluster cluster(12, 2, 5.0);
  const Result whole = evaluate(model, cluster.domain());
  Domain half = cluster.domain();
  half.num_centers = 5;
  Result sum = evaluate(model, half);
  half.centers += 5;
  half.num_centers = 7;
  const Result rest = evaluate(model, half);
  EXPECT_NEAR(whole.energy, sum.energy + rest.energy, 1e-12);
  for (std::size_t k = 0; k < sum.force.size(); ++k)
    EXPECT_NEAR(whole.force[k], sum.force[k] + rest.force[k], 1e-12);
}

TEST(DeepPot, OverflowIsCounted)
{
  auto config = tiny_config();
  se_e2_a(config).sel = {2, 2};
  DeepPot model(tiny_model(config));
  Cluster cluster(12, 2, 5.0);
  evaluate(model, cluster.domain());
  EXPECT_GT(model.neighbor_report().overflow, 0);
}

TEST(DeepPot, CoincidingAndNonFiniteAtomsAreErrors)
{
  DeepPot model(tiny_model(tiny_config()));
  Cluster cluster(3, 2, 5.0);
  cluster.x[3] = cluster.x[0];
  cluster.x[4] = cluster.x[1];
  cluster.x[5] = cluster.x[2];
  EXPECT_THROW(evaluate(model, cluster.domain()), Error);
  cluster.x[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(evaluate(model, cluster.domain()), Error);
}

SeE2A<double> &se_e2_a_of(DeepPot &model)
{
  return dynamic_cast<SeE2A<double> &>(model.engine().descriptor());
}

TEST(EmbeddingTable, ErrorMeetsTheToleranceAndFallsWithTheKnots)
{
  auto data = tiny_model(tiny_config());
  data.knots = 33;
  DeepPot coarse(data);
  coarse.prepare();
  const auto before = se_e2_a_of(coarse).table_error();
  data.knots = 65;
  DeepPot fine(data);
  fine.prepare();
  const auto after = se_e2_a_of(fine).table_error();
  // quintic interpolation: h^6 for G, h^5 for G'; asymptotically 64 and 32
  EXPECT_GT(before.first / after.first, 20.0);
  EXPECT_GT(before.second / after.second, 10.0);
  data.knots = 0;
  DeepPot automatic(data);
  automatic.prepare();
  const auto chosen = se_e2_a_of(automatic).table_error();
  EXPECT_LE(std::max(chosen.first, chosen.second), 1e-11);
  EXPECT_FALSE(automatic.engine().descriptor().is_direct());
}

// A rough net in the course of a training must not make all later steps slow.
TEST(EmbeddingTable, FollowsTheNetInBothDirections)
{
  const auto data = tiny_model(tiny_config());
  DeepPot model(data), fresh(data);
  fresh.prepare();
  auto rough = data.parameters;
  for (const auto &block : parameter_index(data.config))
    if (block.name.find("/embeddings/") != std::string::npos)
      for (std::size_t k = 0; k < block.size; ++k) rough[block.offset + k] *= 4.0;
  const auto train = [&](const std::vector<double> &parameters) {
    for (int step = 0; step < 200; ++step) {  // from one trial of fewer knots to the next
      model.parameters().set(parameters);
      model.prepare();
    }
  };
  train(rough);
  const int grown = se_e2_a_of(model).knots();
  ASSERT_GT(grown, 2 * se_e2_a_of(fresh).knots());
  train(data.parameters);
  EXPECT_LE(0.6 * se_e2_a_of(model).knots(), se_e2_a_of(fresh).knots());
  const auto [value, derivative] = se_e2_a_of(model).table_error();
  EXPECT_LE(std::max(value, derivative), 1e-11);
}

// The state makes the table the same again: bit-identical continuation.
TEST(DeepPot, AuxiliaryStateRestoresTheTable)
{
  const auto data = tiny_model(tiny_config());
  DeepPot first(data);
  first.prepare();
  first.expect_distances(PairDistances(static_cast<int>(first.type_map().size()), 0.4));
  DeepPot second(data);
  second.set_auxiliary_state(first.auxiliary_state());
  Cluster cluster(12, 2, 5.0);
  const Result a = evaluate(first, cluster.domain()), b = evaluate(second, cluster.domain());
  EXPECT_EQ(a.energy, b.energy);
  expect_same_sums(b.force, a.force);
}

// Without a table each slot has rows of its own: 200 atoms of a type with 399 neighbors listed had 200 MB of them.
TEST(DeepPot, ChunksWithoutATableHaveBoundedMemory)
{
  ModelConfig config = tiny_config();
  se_e2_a(config).activation = "relu";
  se_e2_a(config).neuron = {5, 100};
  DeepPot model(tiny_model(config));
  Cluster cluster(400, 2, 15.0);
  model.set_chunk(10);
  const Result expected = evaluate(model, cluster.domain());
  const std::size_t small = model.memory_bytes();
  model.set_chunk(INT_MAX);
  const Result found = evaluate(model, cluster.domain());
  EXPECT_GT(model.memory_bytes(), small);
  EXPECT_LT(model.memory_bytes(), std::size_t(128) << 20);  // of which rows 64
  // other matrix products: rounding
  for (std::size_t k = 0; k < found.force.size(); ++k)
    EXPECT_NEAR(found.force[k], expected.force[k], 1e-12);
}

}  // namespace
}  // namespace dptrain::test
