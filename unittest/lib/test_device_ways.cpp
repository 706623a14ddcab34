// The ways of a device, run on the host: searched neighbors and the binned gradient give what lists and plain sums give.
#include <gtest/gtest.h>

#include <cmath>

#include "potential/descriptor/knot_gradient.h"
#include "potential/native/deep_pot.h"
#include "support/both_passes.h"
#include "support/edge_data.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

// Pass A and B over two frames, the second of which has another type outside the model and few centers.
struct Both {
  Vec force, atom_energy, gradient, energies, virials;
};

Both run(DeepPot &model, const std::vector<Domain> &domains)
{
  const int n = static_cast<int>(domains.size());
  std::vector<Result> results(n);
  std::vector<ForwardOutput> outputs(n);
  for (int f = 0; f < n; ++f) {
    results[f].force.assign(3 * domains[f].nall, 0.0);
    results[f].atom_energy.assign(domains[f].nlocal, 0.0);
    outputs[f].force = results[f].force.data();
    outputs[f].atom_energy = results[f].atom_energy.data();
  }
  const auto tape = model.forward(domains.data(), n, outputs.data(), true);
  Both both;
  std::vector<Vec> weights(n);
  std::vector<GradientSeed> seeds(n);
  for (int f = 0; f < n; ++f) {
    both.force.insert(both.force.end(), results[f].force.begin(), results[f].force.end());
    both.atom_energy.insert(both.atom_energy.end(), results[f].atom_energy.begin(),
                            results[f].atom_energy.end());
    both.energies.push_back(outputs[f].energy);
    both.virials.insert(both.virials.end(), outputs[f].virial.begin(), outputs[f].virial.end());
    for (std::size_t k = 0; k < results[f].force.size(); ++k)
      weights[f].push_back(std::cos(1.0 + k + f));
    seeds[f].energy = 0.3 + f;
    seeds[f].force = weights[f].data();
    seeds[f].virial = {0.2, -0.1, 0.0, 0.3, 0.1, 0.0, -0.2, 0.4, 0.1};
  }
  both.gradient = gradient_of(model, *tape, seeds.data());
  return both;
}

void check(ModelConfig config, Precision precision, double tolerance)
{
  if (kernels::separate_memory()) GTEST_SKIP() << "kernels cannot read lists of the host";
  const Cluster first(50, config.ntypes(), 8.0);
  Cluster second(20, config.ntypes(), 6.0, 0.9, 8);
  second.type[3] = -1;
  std::vector<Domain> domains{first.domain(), second.domain()};
  domains[1].num_centers = domains[1].nlocal = 9;  // the others are ghosts
  DeepPot model(tiny_model(config));
  model.set_precision(precision);
  model.set_chunk(16);
  model.engine().use_device_algorithms(false);
  const Both lists = run(model, domains);
  model.engine().use_device_algorithms(true);
  const std::int64_t overflow = model.neighbor_report().overflow;
  const Both found = run(model, domains);
  EXPECT_EQ(model.neighbor_report().overflow, 2 * overflow);
  expect_close(found.energies, lists.energies, tolerance, "energy");
  expect_close(found.atom_energy, lists.atom_energy, tolerance, "energy of an atom");
  expect_close(found.force, lists.force, tolerance, "force");
  expect_close(found.virials, lists.virials, tolerance, "virial");
  expect_close(found.gradient, lists.gradient, tolerance, "gradient");

  // without lists at all, and again without pass A
  for (Domain &d : domains) {
    d.neighbors = nullptr;
    d.num_neighbors = nullptr;
  }
  expect_same_sums(run(model, domains).force, found.force);
}

// Edges come in another order, and sums over centers too: rounding only.
TEST(DeviceWays, GiveWhatListsGive)
{
  check(tiny_config(), Precision::float64, 1e-12);
  check(tiny_config(), Precision::single, 1e-5);
}

TEST(DeviceWays, WithANetForEachPairOfTypes)
{
  ModelConfig config = tiny_config(3);
  se_e2_a(config).type_one_side = false;
  check(config, Precision::float64, 1e-12);
}

TEST(DeviceWays, WithExcludedPairsAndWithoutATable)
{
  ModelConfig config = tiny_config();
  se_e2_a(config).exclude_types = {{0, 1}};
  check(config, Precision::float64, 1e-12);
  se_e2_a(config).activation = "relu";
  check(config, Precision::float64, 1e-12);
}

// sel smaller than the lists: memory for them grows in a second sweep.
TEST(DeviceWays, MoreNeighborsThanExpected)
{
  ModelConfig config = tiny_config();
  se_e2_a(config).sel = {3, 4};
  check(config, Precision::float64, 1e-12);
}

template <class Real> class BinnedGradient : public testing::Test {
};
TYPED_TEST_SUITE(BinnedGradient, Precisions, PrecisionName);

TYPED_TEST(BinnedGradient, IsThePlainOne)
{
  using Real = TypeParam;
  constexpr int width = 8;
  RandomEngine engine(21);
  const Polynomials polynomials(engine);
  const EdgePlan plan(engine);
  EdgeArrays<Real> arrays(plan);
  const long size = kernels::table_net_size<Real>(Polynomials::knots, 2, width);
  kernels::Contraction<Real> c;
  c.edges = arrays.view();
  c.row = {test_rcut, test_smth, test_protection, test_avg, test_radial, test_angular};
  c.scale = 0.25;
  c.padding_arg = static_cast<Real>(polynomials.padding[1]);
  c.padding_row = 1;
  c.table.origin = Polynomials::origin;
  c.table.inv_spacing = static_cast<Real>(1.0 / Polynomials::spacing);
  c.table.intervals = Polynomials::knots - 1;
  c.table.width = width;
  c.table.net_size = size;
  c.table.padding_offset = size - 2 * width;
  const auto table = in_kernels<Real>(random_vector(2 * size, engine));
  c.table.rows = table.data();

  const Vec start = random_vector(2 * size, engine);
  const auto g = in_kernels<Real>(random_vector(EdgePlan::centers * 4 * width, engine)),
             e = in_kernels<Real>(random_vector(EdgePlan::centers * 4 * width, engine));
  const auto r = in_kernels<double>(random_vector(3 * EdgePlan::atoms, engine)),
             strain = in_kernels<double>(random_vector(9 * EdgePlan::frames, engine));
  auto expected = in_kernels<Real>(start), found = in_kernels<Real>(start);
  kernels::contraction_gradient(c, r.data(), strain.data(), g.data(), e.data(), expected.data());
  KnotGradient<Real> binned;
  binned.add(c, r.data(), strain.data(), g.data(), e.data(), found.data());
  EXPECT_GT(largest(moved(to_host(found), -1.0, start)), 0.1);
  expect_close(to_host(found), to_host(expected), sizeof(Real) == 8 ? 1e-12 : 1e-5);
}

}  // namespace
}  // namespace dptrain::test
