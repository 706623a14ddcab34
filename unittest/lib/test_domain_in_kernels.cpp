// A domain whose arrays lie in the memory of the kernels: the same numbers as from the host's arrays, found where the lists
// say, and nothing that grows with the atoms is copied.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "dptrain/potential/model/evaluator.h"
#include "potential/native/deep_pot.h"
#include "support/kernel_data.h"
#include "support/power_spectrum_model.h"
#include "support/scratch.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

constexpr double cutoff = 4.0;

/// The neighbors of a cluster as an engine on a device has them: a table, by rows or, where kernels alone read it, by columns.
class DeviceCluster {
 public:
  explicit DeviceCluster(const Cluster &cluster, bool by_columns = kernels::separate_memory())
  {
    const int n = static_cast<int>(cluster.type.size());
    std::size_t longest = 0;
    for (const auto &list : cluster.lists) longest = std::max(longest, list.size());
    longest += 3;  // room that no list uses
    std::vector<int> table(n * longest, std::numeric_limits<int>::max());
    domain_.row_stride = by_columns ? 1 : static_cast<std::ptrdiff_t>(longest);
    domain_.entry_stride = by_columns ? n : 1;
    for (int i = 0; i < n; ++i)
      for (std::size_t k = 0; k < cluster.lists[i].size(); ++k)
        table[i * domain_.row_stride + k * domain_.entry_stride] = cluster.lists[i][k];
    x_ = in_kernels<double>(cluster.x);
    type_ = in_kernels<int>(cluster.type);
    centers_ = in_kernels<int>(cluster.centers);
    counts_ = in_kernels<int>(cluster.counts);
    table_ = in_kernels<int>(table);
    domain_.nlocal = domain_.nall = n;
    domain_.num_centers = static_cast<int>(cluster.centers.size());
    domain_.x = x_.data();
    domain_.type = type_.data();
    domain_.centers = centers_.data();
    domain_.num_neighbors = counts_.data();
    domain_.neighbor_table = table_.data();
    domain_.largest_row = static_cast<int>(longest);
    domain_.in_kernel_memory = true;
  }
  const Domain &domain() const { return domain_; }

 private:
  Domain domain_;
  kernels::Array<double> x_;
  kernels::Array<int> type_, centers_, counts_, table_;
};

struct Found {
  double energy = 0.0, network_energy = 0.0;
  Vec force, atom_energy, atom_virial, bar, features, virial;
};

Found evaluate_in_kernels(DeepPot &model, const Domain &domain)
{
  const AtomFeatures &layer = *model.features();
  auto force = zeros<double>(3L * domain.nall), virial = zeros<double>(9L * domain.nall),
       energy = zeros<double>(domain.nlocal), bar = zeros<double>(domain.nlocal);
  Found found;
  found.features.assign(model.type_map().size() * layer.number(), 0.0);
  ForwardOutput out;
  out.force = force.data();
  out.atom_energy = energy.data();
  out.atom_virial = virial.data();
  out.bar = bar.data();
  out.feature_sum = found.features.data();
  Evaluator(std::shared_ptr<Model>(&model, [](Model *) {})).step(domain, out);
  found.energy = out.energy;
  found.network_energy = out.network_energy;
  found.virial.assign(out.virial.begin(), out.virial.end());
  found.force = to_host(force);
  found.atom_energy = to_host(energy);
  found.atom_virial = to_host(virial);
  found.bar = to_host(bar);
  return found;
}

Found evaluate_on_host(DeepPot &model, const Domain &domain)
{
  const AtomFeatures &layer = *model.features();
  Found found;
  found.force.assign(3L * domain.nall, 0.0);
  found.atom_energy.assign(domain.nlocal, 0.0);
  found.atom_virial.assign(9L * domain.nall, 0.0);
  found.bar.assign(domain.nlocal, 0.0);
  found.features.assign(model.type_map().size() * layer.number(), 0.0);
  ForwardOutput out;
  out.force = found.force.data();
  out.atom_energy = found.atom_energy.data();
  out.atom_virial = found.atom_virial.data();
  out.bar = found.bar.data();
  out.feature_sum = found.features.data();
  model.forward(domain, out);
  found.energy = out.energy;
  found.network_energy = out.network_energy;
  found.virial.assign(out.virial.begin(), out.virial.end());
  return found;
}

void add_bars(DeepPot &model)
{
  const std::size_t h = model.features()->number(), ntypes = model.type_map().size();
  RandomEngine engine(5);
  model.features()->set_metric({random_vector(static_cast<long>(ntypes * h), engine),
                                random_vector(static_cast<long>(ntypes * h * h), engine)});
  model.set_bars({{0.5, 2.0}, 0.9, 10, {5, 5}, "10 labels"});
}

void expect_same(const Found &found, const Found &expected, double tolerance)
{
  EXPECT_NEAR(found.energy, expected.energy, tolerance * (1.0 + std::fabs(expected.energy)));
  EXPECT_NEAR(found.network_energy, expected.network_energy,
              tolerance * (1.0 + std::fabs(expected.network_energy)));
  expect_close(found.force, expected.force, tolerance, "force");
  expect_close(found.atom_energy, expected.atom_energy, tolerance, "energy of an atom");
  expect_close(found.atom_virial, expected.atom_virial, tolerance, "virial of an atom");
  expect_close(found.bar, expected.bar, tolerance, "error bar");
  expect_close(found.features, expected.features, tolerance, "features");
  expect_close(found.virial, expected.virial, tolerance, "virial");
}

ModelData model_of(const std::string &descriptor)
{
  return descriptor == "se_e2_a" ? tiny_model(tiny_config())
                                 : power_spectrum_model(2, small_power_spectrum(), cutoff);
}

class DomainInKernels : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(, DomainInKernels, testing::Values("se_e2_a", "power_spectrum"),
                         [](const auto &test) { return test.param; });

// Only the order of sums differs: centers and lists are the same.
TEST_P(DomainInKernels, GivesWhatTheHostsArraysGive)
{
  for (const auto &[precision, tolerance] :
       {std::pair{Precision::float64, 1e-12}, std::pair{Precision::single, 2e-5}}) {
    Cluster cluster(60, 2, 8.0);
    cluster.type[7] = -1;                     // not in the model
    cluster.centers = {59, 3, 20, 4, 41, 7};  // the others as ghosts: in no order
    for (int i = 8; i < 20; ++i) cluster.centers.push_back(i);
    DeepPot model(model_of(GetParam()));
    model.set_precision(precision);
    model.set_chunk(5);
    add_bars(model);
    const Found expected = evaluate_on_host(model, cluster.domain());
    model.engine().use_device_algorithms(true);
    const DeviceCluster device(cluster);
    expect_same(evaluate_in_kernels(model, device.domain()), expected, tolerance);
    expect_same(evaluate_in_kernels(model, device.domain()), expected, tolerance);
  }
}

// Where the host reads the same memory, the table is as good as rows of their own.
TEST_P(DomainInKernels, OfAHostIsReadWithoutTheWaysOfADevice)
{
  if (kernels::separate_memory()) GTEST_SKIP() << "the host cannot read it";
  const Cluster cluster(40, 2, 7.0);
  DeepPot model(model_of(GetParam()));
  add_bars(model);
  const Found expected = evaluate_on_host(model, cluster.domain());
  const DeviceCluster device(cluster, false);
  const Found found = evaluate_on_host(model, device.domain());
  expect_same(found, expected, 0.0);
}

// What travels in a step, with its sums and without: control numbers, and as many for all numbers of atoms.
TEST_P(DomainInKernels, NothingThatGrowsWithTheAtomsIsCopied)
{
  DeepPot model(model_of(GetParam()));
  model.engine().use_device_algorithms(true);
  model.set_chunk(4096);
  const auto copied = [&](int natoms, bool sums) {
    const Cluster cluster(natoms, 2, 3.2 * std::cbrt(natoms));
    const DeviceCluster device(cluster);
    auto force = zeros<double>(3L * natoms);
    ForwardOutput out;
    out.sums = sums;
    out.force = force.data();
    std::int64_t bytes = 0;
    for (int step = 0; step < 3; ++step) {  // the first one makes tables
      const std::int64_t before = kernels::counters().copied;
      model.forward(device.domain(), out);
      bytes = kernels::counters().copied - before;
    }
    return bytes;
  };
  EXPECT_EQ(copied(50, false), copied(800, false));
  EXPECT_LT(copied(800, false), 1024);
  EXPECT_EQ(copied(50, true), copied(800, true));  // the sum of at most 1024 energies is one number
  EXPECT_LT(copied(800, true), 1024 + 256);
}

TEST_P(DomainInKernels, NoAtomsAtAll)
{
  Cluster cluster(12, 2, 5.0);
  cluster.centers.clear();
  DeepPot model(model_of(GetParam()));
  model.engine().use_device_algorithms(true);
  const DeviceCluster device(cluster);
  auto force = zeros<double>(36);
  ForwardOutput out;
  out.force = force.data();
  model.forward(device.domain(), out);
  EXPECT_EQ(out.energy, 0.0);
  EXPECT_EQ(to_host(force), Vec(36, 0.0));
}

TEST_P(DomainInKernels, WhatIsNotPossible)
{
  Cluster cluster(20, 2, 6.0);
  DeepPot model(model_of(GetParam()));
  model.engine().use_device_algorithms(true);
  const DeviceCluster device(cluster);
  auto force = zeros<double>(60);
  ForwardOutput out[2];
  for (ForwardOutput &o : out) o.force = force.data();
  const Domain two[2] = {device.domain(), device.domain()};
  const std::string words = "one domain in the memory of the kernels";
  EXPECT_NE(message_of([&] { model.forward(two, 2, out, false); }).find(words), std::string::npos);
  EXPECT_NE(message_of([&] { model.forward(two, 1, out, true); }).find(words), std::string::npos);

  cluster.x[3 * 11 + 1] = std::numeric_limits<double>::quiet_NaN();
  const DeviceCluster broken(cluster);
  EXPECT_NE(message_of([&] { model.forward(broken.domain(), out[0]); }).find("is not finite"),
            std::string::npos);
}

}  // namespace
}  // namespace dptrain::test
