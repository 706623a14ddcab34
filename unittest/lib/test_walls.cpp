// Walls: the repulsion below what has been learned, and that the net does not see what is closer.
#include <gtest/gtest.h>

#include <cmath>

#include "dptrain/potential/files/model_file.h"
#include "dptrain/potential/model/stiffen_walls.h"
#include "potential/native/deep_pot.h"
#include "support/all_ways.h"
#include "support/energy_derivatives.h"
#include "support/kernel_data.h"
#include "support/power_spectrum_model.h"
#include "support/scratch.h"
#include "support/seeded_sum.h"
#include "support/tiny_model.h"
#include "support/two_atoms.h"

namespace dptrain::test {
namespace {

constexpr double RCUT = 3.2;

/// A potential for Si and O whose net knows nothing of the walls.
ModelData model_data(int l_max = 3)
{
  ModelData data = power_spectrum_model(2, small_power_spectrum(l_max), RCUT);
  data.config.type_map = {"Si", "O"};
  return data;
}

Walls walls(double si_si, double si_o, double o_o)
{
  Walls walls(2, RCUT);
  walls.begin.lower(0, 0, si_si);
  walls.begin.lower(0, 1, si_o);
  walls.begin.lower(1, 1, o_o);
  return walls;
}

double energy(Model &model, const Cluster &atoms)
{
  return evaluate(model, atoms.domain()).energy;
}

// So far in, the net sees no more of the distance, and what is left is ZBL.
TEST(Walls, AreTheRepulsionOfTheNuclei)
{
  DeepPot model(model_data());
  model.set_walls(walls(2.2, 1.5, 2.0));
  const int charge[] = {14, 8};
  for (const auto &[a, b] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    const double begin = model.walls().begin.at(a, b);
    const auto rest = [&](double r) {
      return energy(model, dimer(a, b, r)) - zbl_by_definition(charge[a], charge[b], r);
    };
    for (const double part : {0.6, 0.4, 0.1})
      EXPECT_NEAR(rest(part * begin), rest(0.7 * begin),
                  1e-10 * zbl_by_definition(8, 8, part * begin));
  }
}

TEST(Walls, ChangeNothingAboveTheirBeginning)
{
  for (const Precision precision : {Precision::float64, Precision::single}) {
    DeepPot without(model_data()), with(model_data());
    const Cluster atoms(30, 2, 5.0, 1.0);
    with.set_walls(walls(1.0, 1.0, 1.0));
    for (DeepPot *model : {&without, &with}) model->set_precision(precision);
    const Result a = evaluate(without, atoms.domain()), b = evaluate(with, atoms.domain());
    const double rounding = precision == Precision::single ? 1e-6 : 1e-13;  // of sums on a device
    EXPECT_EQ(a.energy, b.energy);
    expect_same_sums(a.force, b.force, rounding);
    for (int k = 0; k < 9; ++k)
      EXPECT_NEAR(a.virial[k], b.virial[k], kernels::separate_memory() ? rounding : 0.0);
    EXPECT_EQ(with.neighbor_report().wall.ratio, 1.0);
  }
}

// Some atoms far inside of their walls, others where these are being switched on.
TEST(Walls, ForcesAndVirialAreDerivativesOfTheEnergy)
{
  for (const int l_max : {0, 3, 4}) {
    DeepPot model(model_data(l_max));
    model.set_chunk(7);
    model.set_walls(walls(2.4, 1.8, 1.2));
    // largest forces of 10^3 eV/Angstrom: steps of 1e-5 leave 1e-10 times third derivatives of 10^5
    expect_energy_derivatives(model, Cluster(20, 2, 4.0, 0.7), 1e-4, 1e-3);
  }
}

// Energy, force and its slope at the ends of the two functions: the limits from both sides.
TEST(Walls, AreSmooth)
{
  DeepPot model(model_data());
  const double begin = 2.2;
  model.set_walls(walls(begin, 1.5, 2.0));
  const auto force = [&](double r) {
    return evaluate(model, dimer(0, 0, r).domain()).force[4] / 0.8;
  };
  constexpr double h = 1e-5;
  for (const double place : {begin, 0.9 * begin, 0.81 * begin, 0.7 * begin}) {
    const double above = (force(place + 2 * h) - force(place + h)) / h,
                 below = (force(place - h) - force(place - 2 * h)) / h;
    EXPECT_NEAR(force(place + h), force(place - h), 2.5 * h * std::abs(above) + 1e-8) << place;
    // the next derivative is below 10^4 here
    EXPECT_NEAR(above, below, 3 * h * 1e4) << place;
  }
}

TEST(Walls, ParameterGradientIsTheDerivativeInside)
{
  DeepPot model(model_data());
  model.set_chunk(7);
  model.set_walls(walls(1.8, 1.5, 1.4));
  const Cluster atoms(20, 2, 4.5);
  evaluate(model, atoms.domain());
  ASSERT_LT(model.neighbor_report().wall.ratio, 0.8);
  const Domain domain = atoms.domain();
  expect_parameter_gradient(model, domain, SeededSum(domain), 1e-7);
}

TEST(Walls, TellTheClosestPair)
{
  DeepPot model(model_data());
  model.set_walls(walls(2.0, 1.5, 1.8));
  Cluster atoms = dimer(0, 1, 1.2);
  evaluate(model, atoms.domain());
  WallContact contact = model.neighbor_report().wall;
  EXPECT_NEAR(contact.ratio, 0.8, 1e-9);
  EXPECT_NEAR(contact.distance, 1.2, 1e-9);
  EXPECT_EQ(contact.types[0] + contact.types[1], 1);
  EXPECT_TRUE(contact.is_touched());
  evaluate(model, dimer(0, 1, 1.48).domain());
  contact = model.neighbor_report().wall;
  EXPECT_NEAR(contact.ratio, 1.48 / 1.5, 1e-9);
  EXPECT_FALSE(contact.is_touched());
  evaluate(model, dimer(0, 1, 1.52).domain());
  EXPECT_EQ(model.neighbor_report().wall.ratio, 1.0);
}

TEST(Walls, MoveInwardsAsLabelsCome)
{
  DeepPot model(model_data());
  model.set_walls(Walls(2, RCUT));
  PairDistances seen(2);
  seen.lower(0, 1, 1.6);
  model.expect_distances(seen);
  EXPECT_EQ(model.walls().begin.values(), (Vec{RCUT, 1.6, 1.6, RCUT}));
  seen = PairDistances(2);
  seen.lower(1, 0, 1.7);
  seen.lower(1, 1, 2.5);
  model.expect_distances(seen);
  EXPECT_EQ(model.walls().begin.values(), (Vec{RCUT, 1.6, 1.6, 2.5}));
  // where nothing is closer, and without walls, there is nothing
  DeepPot plain(model_data());
  EXPECT_EQ(energy(model, dimer(0, 1, 1.61)), energy(plain, dimer(0, 1, 1.61)));
  plain.expect_distances(seen);
  EXPECT_TRUE(plain.walls().empty());
}

// In all precisions, in the ways of a device, in chunks, and beside se_e2_a, which sees all distances.
TEST(Walls, AreTheSameInAllWays)
{
  const Cluster atoms(40, 2, 5.0, 0.8);
  DeepPot model(model_data());
  model.set_walls(walls(2.0, 1.5, 1.8));
  const Result all = evaluate(model, atoms.domain());
  double largest_force = 0.0;
  for (const double f : all.force) largest_force = std::max(largest_force, std::abs(f));
  expect_same_in_all_ways(model, atoms, largest_force);

  ModelData data = tiny_model(tiny_config());
  data.config.type_map = {"Si", "O"};
  DeepPot plain(data), with_walls(data);
  with_walls.set_walls(walls(2.0, 1.5, 1.8));
  const Cluster close = dimer(0, 1, 0.5);
  EXPECT_NEAR(energy(with_walls, close) - energy(plain, close), zbl_by_definition(14, 8, 0.5),
              1e-8);
}

TEST(Walls, AreKeptInFiles)
{
  const Scratch scratch;
  ModelData data = model_data();
  data.walls = walls(2.0, 1.5, 1.8);
  data.walls.strength = {1.0, 4.0, 4.0, 2.0};
  write_dp(scratch / "a.dp", data);
  const ModelData read = read_dp(scratch / "a.dp");
  EXPECT_EQ(read.walls.begin.values(), data.walls.begin.values());
  EXPECT_EQ(read.walls.strength, data.walls.strength);
  EXPECT_EQ(energy(*make_deep_pot(read), dimer(0, 1, 1.0)),
            energy(*make_deep_pot(data), dimer(0, 1, 1.0)));
  data.walls = {};
  write_dp(scratch / "b.dp", data);
  EXPECT_TRUE(read_dp(scratch / "b.dp").walls.empty());
}

// Random nets with forces of 10^3 eV/Angstrom attract at half of all distances.
TEST(Walls, AreStiffEnoughForAnyNet)
{
  const auto comm = make_mpi_communicator();
  int stiffened = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    ModelData data = power_spectrum_model(2, small_power_spectrum(), RCUT, seed);
    data.config.type_map = {"Si", "O"};
    for (double &parameter : data.parameters) parameter *= 5.0;
    DeepPot model(data);
    model.set_walls(walls(2.3, 1.6, 2.6));
    stiffen_walls(*comm, model);
    for (const auto &[a, b] : {std::pair{0, 0}, {0, 1}, {1, 1}}) {
      stiffened += model.walls().strength[2 * a + b] > 1.0;
      const double begin = model.walls().begin.at(a, b);
      double before = energy(model, dimer(a, b, 0.9 * begin));
      for (double r = 0.88 * begin; r > 0.1; r -= 0.02 * begin) {
        const double now = energy(model, dimer(a, b, r));
        EXPECT_GT(now, before) << seed << ' ' << a << b << ' ' << r;
        before = now;
      }
      EXPECT_GT(energy(model, dimer(a, b, 0.5)) - energy(model, dimer(a, b, RCUT)), 20.0);
    }
  }
  EXPECT_GT(stiffened, 3);
  // light nuclei repel by 6 eV at 0.5 Angstrom
  ModelData light = model_data();
  light.config.type_map = {"H", "O"};
  DeepPot hydrogen(light);
  hydrogen.set_walls(walls(1.3, 0.9, 2.3));
  stiffen_walls(*comm, hydrogen);
  EXPECT_GE(hydrogen.walls().strength[0], 4.0);
  EXPECT_GE(energy(hydrogen, dimer(0, 0, 0.5)) - energy(hydrogen, dimer(0, 0, 1.3)), 20.0);
  // pairs that are excluded have none
  ModelData data = model_data();
  data.config.pair_exclude_types = {{0, 1}};
  DeepPot model(data);
  model.set_walls(walls(2.3, 1.6, 2.6));
  stiffen_walls(*comm, model);
  EXPECT_EQ(model.walls().strength[1], 1.0);
}

}  // namespace
}  // namespace dptrain::test
