// Charges of the atoms: the sum over waves, its derivatives, and the term of the energy that has them.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fmt/format.h>
#include <numbers>

#include <ATen/ATen.h>

#include "dptrain/potential/files/model_file.h"
#include "input/model_keys.h"
#include "neighbor/lattice.h"
#include "potential/native/deep_pot.h"
#include "potential/terms/reciprocal_sum.h"
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
    d.whole = WholeCell{box, true, nullptr};
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
  for (const auto &block : blocks)
    for (std::size_t k = 0; k < block.size; ++k)
      parameters[block.offset + k] = block.name.starts_with("/model/terms/")
                                         ? (k == 0 ? 0.9 : -0.7)
                                         : data.parameters.at(next++);
  data.parameters = parameters;
  return data;
}

const json by_element{{"type", "charges"}};
const json fixed = json::parse(R"({"type": "charges", "kind": "fixed", "sigma": 1.1,
                                   "values": {"Na": 1, "Cl": -1}})");

// Central differences with steps of 1e-5: what is left is 1e-10 times third derivatives, and the rounding of energies.
TEST(ChargeTerm, ForcesAndVirialAreDerivativesOfTheEnergy)
{
  for (const json &term : {by_element, fixed}) {
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

TEST(ChargeTerm, ParameterGradientIsThatOfASum)
{
  DeepPot model(model_data(by_element));
  const Salt salt;
  const Domain domain = salt.domain();
  const SeededSum sum(domain);
  const auto gradient = expect_parameter_gradient(model, domain, sum, 1e-7);
  for (const auto &block : model.parameters().blocks())
    if (block.name == "/model/terms/0/@variables/charge") {
      EXPECT_GT(std::abs(gradient[block.offset]), 1e-3);
      // a frame is neutral: a number that is added to all charges changes nothing
      EXPECT_NEAR(gradient[block.offset], -gradient[block.offset + 1], 1e-10);
    }
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
  for (const json &term : {by_element, fixed}) {
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
  refused(R"({"type": "charges", "values": [1, -1]})", "an object of charges by element");
  refused(R"({"type": "charges", "kind": "fixed", "values": {"Na": 1}})", "has no charge for Cl");
  refused(R"({"type": "charges", "sigma": 0})", "model/terms/0/sigma");
}

}  // namespace
}  // namespace dptrain::test
