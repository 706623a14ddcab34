// Charges of the atoms: the sum over waves, its derivatives, and the term of the energy that has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <fmt/format.h>
#include <new>
#include <numbers>

#include <ATen/ATen.h>

#include "dptrain/potential/files/model_file.h"
#include "input/model_keys.h"
#include "kernels/memory.h"
#include "neighbor/lattice.h"
#include "potential/native/deep_pot.h"
#include "potential/terms/reciprocal_sum.h"
#include "support/both_passes.h"
#include "support/kernel_data.h"
#include "support/power_spectrum_model.h"
#include "support/random_frame.h"
#include "support/scratch.h"
#include "support/seeded_sum.h"
#include "support/tiny_model.h"

namespace dptrain::test {
namespace {

using nlohmann::json;
using Box = std::array<double, 9>;

constexpr double PI = std::numbers::pi, RCUT = 3.2;
const Box skewed{9.1, 0.3, -0.4, 1.2, 8.2, 0.7, -0.9, 0.4, 10.3};

at::Tensor tensor(const std::vector<double> &values, at::IntArrayRef shape)
{
  return at::from_blob(const_cast<double *>(values.data()), shape, at::TensorOptions(at::kDouble))
      .clone();
}

double energy_of(const Box &box, double sigma, const std::vector<double> &x,
                 const std::vector<double> &q)
{
  const auto n = static_cast<long>(q.size());
  const ReciprocalSum sum(box, sigma, at::TensorOptions(at::kDouble));
  const auto atoms = sum.atoms(tensor(x, {n, 3}), tensor(q, {n}));
  const auto found = sum.derivatives(atoms, sum.structure(atoms));
  return 0.5 * at::dot(atoms.charge, found.potential).item<double>();
}

/// The definition, wave by wave.
double energy_by_definition(const Box &box, double sigma, const std::vector<double> &x,
                            const std::vector<double> &q)
{
  const Lattice lattice(box);
  const double volume = std::abs(box[0] * (box[4] * box[8] - box[5] * box[7]) -
                                 box[1] * (box[3] * box[8] - box[5] * box[6]) +
                                 box[2] * (box[3] * box[7] - box[4] * box[6]));
  double sum = 0.0, self = 0.0;
  for (int a = -20; a <= 20; ++a)
    for (int b = -20; b <= 20; ++b)
      for (int c = -20; c <= 20; ++c) {
        double k[3], k2 = 0.0;  // k r = 2 pi (a, b, c) fractional
        for (int d = 0; d < 3; ++d) {
          double axis[3] = {0.0, 0.0, 0.0};
          axis[d] = 1.0;
          const auto f = lattice.fractional(axis);
          k[d] = 2 * PI * (a * f[0] + b * f[1] + c * f[2]);
          k2 += k[d] * k[d];
        }
        if (k2 == 0.0 || k2 >= 20.25 / (sigma * sigma)) continue;
        std::complex<double> s = 0.0;
        for (std::size_t i = 0; i < q.size(); ++i)
          s += q[i] * std::exp(std::complex<double>(0.0, k[0] * x[3 * i] + k[1] * x[3 * i + 1] +
                                                             k[2] * x[3 * i + 2]));
        sum += std::exp(-0.5 * sigma * sigma * k2) / k2 * std::norm(s);
      }
  for (const double charge : q) self += charge * charge;
  return 2 * PI * coulomb_constant / volume * sum -
         coulomb_constant / (std::sqrt(2 * PI) * sigma) * self;
}

TEST(ReciprocalSum, IsWhatItsDefinitionSays)
{
  Numbers random(5);
  std::vector<double> x, q;
  for (int k = 0; k < 60; ++k) x.push_back(random(-15, 15));
  for (int k = 0; k < 20; ++k) q.push_back(random(-1, 1));
  for (const double sigma : {1.0, 1.5, 3.0}) {
    const double expected = energy_by_definition(skewed, sigma, x, q);
    EXPECT_NEAR(energy_of(skewed, sigma, x, q), expected, 1e-11 * std::abs(expected));
  }
}

// With the rest of Ewald's sum, erfc(r / (sqrt(2) sigma)) / r, it is the energy of point charges: Madelung's constant of rock salt.
TEST(ReciprocalSum, HasMadelungsConstant)
{
  constexpr double d = 2.5, sigma = 0.8;
  std::vector<double> x, q;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 2; ++k) {
        x.insert(x.end(), {i * d, j * d, k * d});
        q.push_back((i + j + k) % 2 ? -1.0 : 1.0);
      }
  double rest = 0.0;
  for (int i = -3; i <= 3; ++i)
    for (int j = -3; j <= 3; ++j)
      for (int k = -3; k <= 3; ++k) {
        const double r = d * std::sqrt(i * i + j * j + k * k);
        if (r > 0.0)
          rest += ((i + j + k) % 2 ? -1.0 : 1.0) * std::erfc(r / (std::sqrt(2.0) * sigma)) / r;
      }
  const double energy = energy_of({2 * d, 0, 0, 0, 2 * d, 0, 0, 0, 2 * d}, sigma, x, q) +
                        0.5 * 8 * coulomb_constant * rest;
  // waves beyond 4.5 / sigma are left out
  EXPECT_NEAR(energy / (4 * coulomb_constant / d), -1.747564594633, 2e-4);
}

/// Atoms of Na and Cl without neighbors in a cell: what the net has of them is the same in all positions.
struct Salt {
  explicit Salt(int natoms = 14, double size = 6.0) : atoms(natoms, 2, size, 1.0, 11) {}
  Domain domain() const
  {
    Domain d = atoms.domain();
    d.whole = WholeCell{box, true, {}, nullptr};
    return d;
  }
  Cluster atoms;
  Box box = skewed;
};

ModelData model_data(const json &term)
{
  PowerSpectrumConfig settings;
  settings.n_max = 3;
  settings.axis_neuron = 2;
  settings.l_max = 2;
  settings.n_basis = 6;
  ModelData data = power_spectrum_model(2, settings, RCUT);
  const json model{{"type_map", {"Na", "Cl"}}, {"terms", json::array({term})}};
  JsonReader reader(model, "input.json", "model");
  read_type_keys(reader, data.config);
  // the numbers of the net stay what they are, beside those of the term
  const auto blocks = parameter_index(data.config);
  std::vector<double> parameters(blocks.back().offset + blocks.back().size);
  std::size_t next = 0;
  Numbers random(3);
  for (const auto &block : blocks)
    for (std::size_t k = 0; k < block.size; ++k) {
      double &parameter = parameters[block.offset + k];
      if (!block.name.starts_with("/model/terms/"))
        parameter = data.parameters.at(next++);
      else
        parameter = random(-1, 1);
    }
  data.parameters = parameters;
  return data;
}

const json by_surroundings =
    json::parse(R"({"type": "charges", "kind": "environment", "neuron": [6],
                    "values": {"Na": 0.9, "Cl": -0.7}})");
const json fixed = json::parse(R"({"type": "charges", "kind": "fixed", "sigma": 1.1,
                                   "values": {"Na": 1, "Cl": -1}})");

// Central differences with steps of 1e-5: what is left is 1e-10 times third derivatives, and the rounding of energies.
TEST(ChargeTerm, ForcesAndVirialAreDerivativesOfTheEnergy)
{
  for (const json &term : {by_surroundings, fixed}) {
    DeepPot model(model_data(term));
    Salt salt;
    const Result found = evaluate(model, salt.domain());
    constexpr double h = 1e-5;
    const auto difference = [&](const std::function<void(Salt &, double)> &change) {
      Salt up = salt, down = salt;
      up.atoms.link();
      down.atoms.link();
      change(up, h);
      change(down, -h);
      return -(evaluate(model, up.domain()).energy - evaluate(model, down.domain()).energy) /
             (2 * h);
    };
    for (std::size_t k = 0; k < salt.atoms.x.size(); ++k)
      EXPECT_NEAR(found.force[k], difference([&](Salt &s, double d) { s.atoms.x[k] += d; }), 2e-8)
          << k;
    for (int a = 0; a < 3; ++a)
      for (int b = 0; b < 3; ++b)
        EXPECT_NEAR(found.virial[3 * a + b], difference([&](Salt &s, double d) {
                      for (std::size_t i = 0; i < salt.atoms.x.size(); i += 3)
                        s.atoms.x[i + a] += d * salt.atoms.x[i + b];
                      for (int row = 0; row < 3; ++row)
                        s.box[3 * row + a] += d * salt.box[3 * row + b];
                    }),
                    1e-7);
    double energy = 0.0;
    std::array<double, 9> virial{};
    for (const double e : found.atom_energy) energy += e;
    for (std::size_t k = 0; k < found.atom_virial.size(); ++k)
      virial[k % 9] += found.atom_virial[k];
    EXPECT_NEAR(energy, found.energy, 1e-10);
    for (int k = 0; k < 9; ++k) EXPECT_NEAR(virial[k], found.virial[k], 1e-10) << k;
  }
}

/// [nlocal] e
std::vector<double> charges_of(Model &model, const Domain &domain)
{
  std::vector<double> charges(domain.nlocal), force(3L * domain.nall);
  ForwardOutput out;
  out.force = force.data();
  out.charge = charges.data();
  model.forward(domain, out);
  return charges;
}

TEST(ChargeTerm, ChargesFollowTheSurroundings)
{
  DeepPot model(model_data(by_surroundings));
  Salt salt;
  const std::vector<double> before = charges_of(model, salt.domain());
  double sum = 0.0;
  std::array<std::vector<double>, 2> by_type;
  for (std::size_t i = 0; i < before.size(); ++i) {
    sum += before[i];
    by_type[salt.atoms.type[i]].push_back(before[i]);
  }
  EXPECT_NEAR(sum, 0.0, 1e-12);
  for (const auto &of_type : by_type) {
    const auto [least, most] = std::minmax_element(of_type.begin(), of_type.end());
    EXPECT_GT(*most - *least, 0.01);
  }
  ASSERT_TRUE(model.charges());
  EXPECT_EQ(model.charges()->by_type, (std::vector<double>{0.9, -0.7}));
}

/// Energy, forces and parameter gradient over a batch of two frames.
std::vector<double> numbers_of(Model &model)
{
  const Salt salt;
  const Domain domains[2] = {salt.domain(), salt.domain()};
  const SeededSum sum(domains[0]);
  const GradientSeed seeds[2] = {sum.seed(), sum.seed()};
  const Result result = evaluate(model, domains[0]);
  std::vector<double> numbers = gradient_of(model, domains, 2, seeds);
  numbers.push_back(result.energy);
  numbers.insert(numbers.end(), result.force.begin(), result.force.end());
  return numbers;
}

void expect_same(const std::vector<double> &found, const std::vector<double> &expected,
                 double tolerance)
{
  double largest = 0.0;
  for (const double number : expected) largest = std::max(largest, std::abs(number));
  for (std::size_t k = 0; k < expected.size(); ++k)
    ASSERT_NEAR(found[k], expected[k], tolerance * largest) << k;
}

// What a chunk leaves for the next stage of a pass, and what is computed again, are the same numbers. Of 14 atoms 4,000 bytes are those of some.
TEST(ChargeTerm, IsTheSameInChunksOfAnySize)
{
  const auto found = [&](int chunk, std::size_t keep, bool device, Precision precision) {
    DeepPot model(model_data(by_surroundings));
    model.set_precision(precision);
    model.engine().use_device_algorithms(device);
    model.engine().set_keep_limit(keep);
    model.set_chunk(chunk);
    return numbers_of(model);
  };
  constexpr std::size_t all = 1 << 30, some = 4000;
  const auto expected = found(100, all, false, Precision::float64);
  for (const std::size_t keep : {std::size_t(0), some, all})
    expect_same(found(3, keep, false, Precision::float64), expected, 1e-13);
  expect_same(found(3, some, true, Precision::float64), expected, 1e-13);
  // of numbers of seven digits
  expect_same(found(3, some, false, Precision::single), expected, 1e-5);
}

TEST(ChargeTerm, IsTheSameWhereverMemoryRanOut)
{
  DeepPot model(model_data(by_surroundings));
  const auto before = kernels::counters().allocations;
  const auto expected = numbers_of(model);
  const int allocations = static_cast<int>(kernels::counters().allocations - before);
  ASSERT_GT(allocations, 40);
  for (int at = 1; at <= allocations; ++at) {
    DeepPot other(model_data(by_surroundings));
    kernels::set_allocation_hook([=, count = 0](std::size_t) mutable {
      if (++count == at) throw std::bad_alloc();
    });
    const auto found = numbers_of(other);
    kernels::set_allocation_hook({});
    EXPECT_EQ(other.memory_shortages().number, 1) << at;
    expect_same(found, expected, 1e-12);
  }
}

// What runs out at each of many evaluations takes less until it fits.
TEST(ChargeTerm, KeepsLessWhereMemoryRunsOutAgainAndAgain)
{
  DeepPot model(model_data(by_surroundings));
  model.set_chunk(4);
  const Salt salt(200, 20.0);
  const Domain domain = salt.domain();
  const Result expected = evaluate(model, domain);
  const std::size_t before = kernels::memory_in_use().now;
  model.release_workspace();
  const std::size_t limit = before - (before - kernels::memory_in_use().now) / 4;
  kernels::set_allocation_hook([=](std::size_t bytes) {
    if (kernels::memory_in_use().now + bytes > limit) throw std::bad_alloc();
  });
  for (int step = 0; step < 12; ++step)
    EXPECT_NEAR(evaluate(model, domain).energy, expected.energy, 1e-9);
  const auto shortages = model.memory_shortages().number;
  EXPECT_GE(shortages, 1);
  for (int step = 0; step < 3; ++step) evaluate(model, domain);
  kernels::set_allocation_hook({});
  EXPECT_EQ(model.memory_shortages().number, shortages);
}

TEST(ChargeTerm, TapesKeepTheirOwnSeeds)
{
  DeepPot model(model_data(by_surroundings));
  const Salt salt, other(30, 9.0);
  const Domain domain = salt.domain(), second = other.domain();
  const SeededSum sum(domain), of_second(second);
  const auto expected = gradient_of(model, &domain, 1, &sum.seed());
  const auto tape = tape_of(model, &domain, 1), later = tape_of(model, &second, 1);
  evaluate(model, second);
  EXPECT_EQ(gradient_of(model, *tape, &sum.seed()), expected);
  EXPECT_EQ(gradient_of(model, *later, &of_second.seed()),
            gradient_of(model, &second, 1, &of_second.seed()));
  expect_same(gradient_of(model, *tape, &sum.seed()), expected, 1e-13);  // computed again
}

// Of a descriptor with a table, and of one whose nets are evaluated at each edge.
TEST(ChargeTerm, SurroundingsMayBeThoseOfAnyDescriptor)
{
  for (const char *activation : {"tanh", "relu"}) {
    ModelConfig config = tiny_config();
    se_e2_a(config).activation = activation;
    const json section{
        {"type_map", {"A", "B"}},
        {"terms", {{{"type", "charges"}, {"kind", "environment"}, {"values", {{"A", 0.5}}}}}}};
    JsonReader reader(section, "input.json", "model");
    read_type_keys(reader, config);
    DeepPot model(tiny_model(config));
    const Salt salt;
    const Domain domain = salt.domain();
    const SeededSum sum(domain);
    // tables are interpolated, also where differences are taken
    expect_parameter_gradient(model, domain, sum, 1e-5);
  }
}

TEST(ChargeTerm, ParameterGradientWithSurroundingsIsThatOfASum)
{
  DeepPot model(model_data(by_surroundings));
  const Salt salt;
  const Domain domain = salt.domain();
  const SeededSum sum(domain);
  const auto gradient = expect_parameter_gradient(model, domain, sum, 1e-7);
  double largest = 0.0;
  for (const auto &block : model.parameters().blocks())
    if (block.name.starts_with("/model/terms/"))
      for (std::size_t k = 0; k < block.size; ++k)
        largest = std::max(largest, std::abs(gradient[block.offset + k]));
  EXPECT_GT(largest, 1e-2);
}

// Where no training searches them, they are those that a search would begin with.
TEST(ChargeTerm, SearchedOnesBeginWithOxidationNumbers)
{
  DeepPot model(model_data({{"type", "charges"}}));
  EXPECT_EQ(model.charges()->by_type, (std::vector<double>{1.0, -1.0}));
  EXPECT_EQ(model.parameters().size(), DeepPot(model_data(fixed)).parameters().size());
}

TEST(ChargeTerm, AddsUpToTheTotalOfAFrame)
{
  const Salt salt;
  const auto energy = [&](json term, const std::vector<double> &charges) {
    term["kind"] = "fixed";
    term["values"] = {{"Na", charges[0]}, {"Cl", charges[1]}};
    DeepPot model(model_data(term));
    return evaluate(model, salt.domain()).energy;
  };
  double na = 0.0;
  for (const int type : salt.atoms.type) na += type == 0;
  const double part = na / 14.0, shift = part * 1.0 + (1.0 - part) * -1.0;
  EXPECT_NEAR(energy(fixed, {1.0, -1.0}), energy(fixed, {1.0 - shift, -1.0 - shift}), 1e-10);
  json charged = fixed;
  charged["total"] = 14.0 * 0.2;
  const double found = energy(charged, {1.0, -1.0});
  EXPECT_NEAR(found, energy(charged, {1.0 - shift + 0.2, -1.0 - shift + 0.2}), 1e-10);
  EXPECT_GT(std::abs(found - energy(fixed, {1.0, -1.0})), 0.01);
}

TEST(ChargeTerm, IsLeftOutWhereNobodyAsksForTheWholeFrame)
{
  DeepPot with(model_data(fixed)), without([] {
    ModelData data = model_data(fixed);
    data.config.terms.clear();
    return data;
  }());
  const Salt salt;
  const Result a = evaluate(with, salt.atoms.domain()), b = evaluate(without, salt.atoms.domain());
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_EQ(a.force, b.force);
  Domain open = salt.domain();
  open.whole->periodic = false;
  expect_in("charges need a cell that is periodic in all directions: give the frames one",
            message_of([&] { evaluate(with, open); }));
}

TEST(ChargeTerm, IsPartOfAModelFile)
{
  const Scratch scratch;
  for (const json &term : {by_surroundings, fixed}) {
    const ModelData data = model_data(term);
    write_model_file(scratch / "a.dp", data);
    const auto read = load_model(scratch / "a.dp");
    EXPECT_EQ(read->parameters().values(), data.parameters);
    EXPECT_EQ(model_differences(data, read->data()), "");
    DeepPot model(data);
    const Salt salt;
    EXPECT_EQ(evaluate(*read, salt.domain()).energy, evaluate(model, salt.domain()).energy);
  }
}

TEST(ChargeTerm, RefusesWhatDoesNotGoTogether)
{
  const auto refused = [](const char *term, const char *message) {
    expect_in(message, message_of([&] { model_data(json::parse(term)); }));
  };
  refused(R"({"type": "charges", "kind": "some"})", "model/terms/0/kind");
  refused(R"({"type": "charges", "values": {"K": 1}})",
          "K is not in type_map: give charges of Na Cl");
  refused(R"({"type": "charges", "values": {"Na": 1, "Cl": 1}})",
          "must have both signs; those of Na Cl have not");
  refused(R"({"type": "charges", "total": 1})", "charges are searched for neutral frames alone");
  refused(R"({"type": "charges", "values": [1, -1]})", "an object of charges by element");
  refused(R"({"type": "charges", "kind": "fixed", "values": {"Na": 1}})", "has no charge for Cl");
  refused(R"({"type": "charges", "sigma": 0})", "model/terms/0/sigma");
  refused(R"({"type": "charges", "neuron": [8]})", "charges of this kind have no net");
  ModelConfig config = tiny_config();
  const json twice{{"type_map", {"A", "B"}},
                   {"terms", {{{"type", "charges"}, {"kind", "environment"}}, by_surroundings}}};
  JsonReader reader(twice, "input.json", "model");
  expect_in("a model has one term of type charges",
            message_of([&] { read_type_keys(reader, config); }));
}

}  // namespace
}  // namespace dptrain::test
