// Velocities after a return: another way for each return, with the same momentum and energy, whatever the number of ranks.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "dptrain/session/recovery/stir_velocities.h"
#include "support/random_frame.h"
#include "support/world.h"

namespace dptrain::test {
namespace {

constexpr std::int64_t natoms = 60;

/// The atoms of this rank: every size-th.
struct Part {
  std::vector<std::int64_t> id;
  std::vector<double> mass, velocity;
};

Part part_of(int rank, int size)
{
  Numbers random(7);
  Part part;
  for (std::int64_t i = 0; i < natoms; ++i) {
    const double mass = i % 3 ? 28.0 : 1.0;
    double v[3];
    for (double &component : v) component = random(-5.0, 6.0);
    if (i % 10 == 0) v[0] = v[1] = v[2] = 0.0;
    if (i % size != rank) continue;
    part.id.push_back(i + 1);
    part.mass.push_back(mass);
    part.velocity.insert(part.velocity.end(), v, v + 3);
  }
  return part;
}

Part stirred(const Communicator &comm, int rank, int size, double strength, std::uint64_t seed,
             std::uint64_t number)
{
  Part part = part_of(rank, size);
  stir_velocities(comm,
                  {static_cast<std::int64_t>(part.id.size()), part.id.data(), part.mass.data(),
                   part.velocity.data()},
                  strength, seed, number);
  return part;
}

Part stirred_alone(double strength, std::uint64_t seed, std::uint64_t number)
{
  return stirred(*make_mpi_communicator(), 0, 1, strength, seed, number);
}

double distance(const Part &a, const Part &b)
{
  double sum = 0.0, all = 0.0;
  for (std::size_t k = 0; k < a.velocity.size(); ++k) {
    sum += std::pow(a.velocity[k] - b.velocity[k], 2);
    all += std::pow(a.velocity[k], 2);
  }
  return std::sqrt(sum / all);
}

TEST(StirVelocities, ConservesMomentumAndEnergy)
{
  const Part before = part_of(0, 1), after = stirred_alone(0.1, 1, 1);
  double momentum[3] = {}, scale = 0.0, energy[2] = {};
  for (std::int64_t i = 0; i < natoms; ++i)
    for (int k = 0; k < 3; ++k) {
      const double m = before.mass[i], u = before.velocity[3 * i + k],
                   v = after.velocity[3 * i + k];
      momentum[k] += m * (v - u);
      scale += m * std::fabs(u);
      energy[0] += m * u * u;
      energy[1] += m * v * v;
      if (i % 10 == 0) {
        EXPECT_EQ(v, 0.0);
      }
    }
  for (const double component : momentum) EXPECT_NEAR(component, 0.0, 1e-14 * scale);
  EXPECT_NEAR(energy[1] / energy[0], 1.0, 1e-13);
  // as strong as it should be: components of 0.1 |v|, less what the conservation takes
  EXPECT_NEAR(distance(before, after), 0.1 * std::sqrt(3.0), 0.03);
}

TEST(StirVelocities, IsAnotherOneForEachReturnAndSeed)
{
  const Part one = stirred_alone(0.1, 1, 1);
  EXPECT_EQ(stirred_alone(0.1, 1, 1).velocity, one.velocity);
  EXPECT_GT(distance(one, stirred_alone(0.1, 1, 2)), 0.1);
  EXPECT_GT(distance(one, stirred_alone(0.1, 2, 1)), 0.1);
}

TEST(StirVelocities, IsTheSameOnAnyNumberOfRanks)
{
  const auto comm = world();
  const Part whole = stirred_alone(0.1, 3, 4),
             part = stirred(*comm, comm->rank(), comm->size(), 0.1, 3, 4);
  for (std::size_t i = 0; i < part.id.size(); ++i)
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(part.velocity[3 * i + k], whole.velocity[3 * (part.id[i] - 1) + k], 1e-13);
}

TEST(StirVelocities, LeavesAtomsAtRestAlone)
{
  std::vector<std::int64_t> id{1, 2};
  std::vector<double> mass{1.0, 2.0}, velocity(6, 0.0);
  stir_velocities(*make_mpi_communicator(), {2, id.data(), mass.data(), velocity.data()}, 0.1, 1,
                  1);
  EXPECT_EQ(velocity, std::vector<double>(6, 0.0));
}

}  // namespace
}  // namespace dptrain::test
