// Single and mixed precision against double, and batches of frames against single calls, for tiny models of several kinds.
#include <cmath>
#include <functional>

#include "dptrain/base/error.h"
#include "dptrain/potential/model/model_data.h"
#include "potential/native/deep_pot.h"
#include "potential/nets/gemm.h"
#include "support/both_passes.h"
#include "support/kernel_data.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

struct Kind {
  friend void PrintTo(const Kind &k, std::ostream *out) { *out << k.name; }
  std::string name;
  ModelConfig config;
};

/// Of sums that a device adds up in any order, relative to the largest.
double rounding(Precision precision)
{
  return precision == Precision::single ? 1e-5 : 1e-13;
}

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
                 se_e2_a(c).type_one_side = false;
                 se_e2_a(c).resnet_dt = true;
               }),
          kind("direct", 2, [](auto &c) { se_e2_a(c).activation = "relu"; }),
          kind("overflow", 2,
               [](auto &c) {
                 se_e2_a(c).sel = {4, 6};
               }),
          kind("excluded", 2,
               [](auto &c) {
                 se_e2_a(c).exclude_types = {{0, 1}};
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

std::unique_ptr<Tape> forward(Model &model, const Batch &batch, int begin, int n, Outcome &all)
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
  std::unique_ptr<Tape> tape = model.forward(&batch.domains[begin], n, out.data(), true);
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
  return tape;
}

constexpr std::size_t everything = std::size_t(1) << 30;  // bytes

// Pass B computes all chunks again where nothing is kept.
Outcome together(DeepPot &model, const Batch &batch, bool keep)
{
  model.engine().set_keep_limit(keep ? everything : 0);
  Outcome all;
  const auto tape = forward(model, batch, 0, batch.size(), all);
  all.gradient = gradient_of(model, *tape, batch.seeds.data());
  return all;
}

Outcome one_by_one(DeepPot &model, const Batch &batch)
{
  model.engine().set_keep_limit(0);
  Outcome all;
  all.gradient.assign(model.parameters().size(), 0.0);
  for (int f = 0; f < batch.size(); ++f) {
    const auto tape = forward(model, batch, f, 1, all);
    all.gradient = moved(all.gradient, 1.0, gradient_of(model, *tape, &batch.seeds[f]));
  }
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
  EXPECT_EQ(model_.engine().descriptor().is_direct(), GetParam().name == "direct");
  EXPECT_EQ(model_.neighbor_report().overflow > 0, GetParam().name == "overflow");
  DeepPot single(data_);
  single.set_precision(Precision::single);
  const Outcome found = together(single, batch_, true);
  expect_same(found, expected, 1e-5);
  EXPECT_NE(found.forces, expected.forces) << "nothing was computed in another precision";
  EXPECT_EQ(single.parameters().values(), data_.parameters);
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
    const Vec alone = together(model_, batch_, false).gradient;
    for (const std::size_t limit : {everything, std::size_t(1)}) {  // bytes: all chunks, the first
      model_.engine().set_keep_limit(limit);
      const auto tape = tape_of(model_, batch_.domains.data(), batch_.size());
      // the same sums in the same order; the second time nothing is left of what was kept
      for (int pass = 0; pass < 2; ++pass)
        expect_same_sums(gradient_of(model_, *tape, batch_.seeds.data()), alone,
                         rounding(precision));
    }
  }
}

// Two tapes, another sweep and one that fails.
TEST_P(PrecisionTest, TapesAreIndependent)
{
  const auto tape = [&](int begin, int n) { return tape_of(model_, &batch_.domains[begin], n); };
  const auto gradient = [&](Tape &of, int begin) {
    return gradient_of(model_, of, &batch_.seeds[begin]);
  };
  Cluster broken = batch_.clusters[1];
  broken.x[3] = NAN;
  for (Precision precision : {Precision::float64, Precision::single}) {
    model_.set_precision(precision);
    model_.set_chunk(5);
    for (const std::size_t limit : {everything, std::size_t(1), std::size_t(0)}) {
      model_.engine().set_keep_limit(limit);
      const Vec of_all = gradient(*tape(0, batch_.size()), 0), of_last = gradient(*tape(3, 2), 3);
      for (const bool in_order : {true, false}) {
        const auto all = tape(0, batch_.size());
        auto last = tape(3, 2);
        const Result between = evaluate(model_, batch_.domains[0]);
        EXPECT_THROW(evaluate(model_, broken.domain()), Error);
        if (in_order) expect_same_sums(gradient(*all, 0), of_all, rounding(precision));
        expect_same_sums(gradient(*last, 3), of_last, rounding(precision));
        last.reset();
        if (!in_order) expect_same_sums(gradient(*all, 0), of_all, rounding(precision));
        expect_same_sums(evaluate(model_, batch_.domains[0]).force, between.force,
                         rounding(precision));
      }
    }
  }
}

// A tape tells of the atoms that pass A saw, wherever they are when pass B comes.
TEST_P(PrecisionTest, ATapeHasThePositionsOfPassA)
{
  for (Precision precision : {Precision::float64, Precision::single})
    for (const bool search : {false, true})
      for (const int frames : {1, batch_.size()})
        for (const std::size_t limit : {everything, std::size_t(0)}) {
          if (!search && kernels::separate_memory()) continue;
          model_.set_precision(precision);
          model_.set_chunk(5);
          model_.engine().use_device_algorithms(search);
          model_.engine().set_keep_limit(limit);
          const GradientSeed *seeds = batch_.seeds.data();
          const Vec expected = gradient_of(model_, batch_.domains.data(), frames, seeds);
          const auto tape = tape_of(model_, batch_.domains.data(), frames);
          std::vector<Cluster> &clusters = batch_.clusters;
          const std::vector<Cluster> before = clusters;
          for (Cluster &cluster : clusters) {
            for (double &x : cluster.x) x = NAN;
            for (int &type : cluster.type) type = 0;
          }
          expect_same_sums(gradient_of(model_, *tape, seeds), expected, rounding(precision));
          for (std::size_t f = 0; f < clusters.size(); ++f) {
            std::copy(before[f].x.begin(), before[f].x.end(), clusters[f].x.begin());
            std::copy(before[f].type.begin(), before[f].type.end(), clusters[f].type.begin());
          }
        }
}

// Nothing kept may be used for another chunk size, another way to find neighbors or another table.
TEST_P(PrecisionTest, ATapeOutlivesChangesOfTheModel)
{
  const auto after = [&](const std::function<void(DeepPot &)> &change) {
    DeepPot model(data_);
    const auto tape = tape_of(model, batch_.domains.data(), batch_.size());
    change(model);
    return gradient_of(model, *tape, batch_.seeds.data());
  };
  const Vec before = together(model_, batch_, false).gradient;
  // the interpolation errors of tables with other knots, and their derivatives: 1e-10
  expect_close(after([](DeepPot &m) { m.set_chunk(3); }), before, 1e-12, "chunk");
  expect_close(after([](DeepPot &m) { m.release_workspace(); }), before, 1e-12, "workspace");
  expect_close(after([](DeepPot &m) { m.engine().use_device_algorithms(true); }), before, 1e-12,
               "ways");
  expect_close(after([](DeepPot &m) {
                 m.expect_distances(PairDistances(static_cast<int>(m.type_map().size()), 0.3));
               }),
               before, 1e-10, "distance");
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
  const auto there_and_back = [](DeepPot &m) {
    m.set_precision(Precision::single);
    m.set_precision(Precision::float64);
  };
  expect_close(after(there_and_back), before, 1e-12, "another engine");
  EXPECT_THROW(after([](DeepPot &m) { m.set_precision(Precision::single); }), Error);
  // residuals of other parameters would be no derivatives of the loss
  EXPECT_THROW(after([&](DeepPot &m) { m.parameters().set(data_.parameters); }), Error);
}

TEST_P(PrecisionTest, ATapeIsOfOneModelAndMayOutliveIt)
{
  std::unique_ptr<Tape> tape;
  {
    DeepPot other(data_);
    tape = tape_of(other, batch_.domains.data(), batch_.size());
    gradient_of(other, *tape, batch_.seeds.data());
  }
  EXPECT_THROW(gradient_of(model_, *tape, batch_.seeds.data()), Error);
}

/// Wide enough for products in bfloat16: no side below 16.
struct Wide {
  ModelData data;
  Batch batch{{40, 0, 36}, 2};

  Wide()
  {
    ModelConfig config = tiny_config();
    se_e2_a(config).neuron = {8, 16};
    se_e2_a(config).axis_neuron = 4;
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
