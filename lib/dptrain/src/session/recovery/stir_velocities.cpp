#include "dptrain/session/recovery/stir_velocities.h"

#include <array>
#include <cmath>

namespace dptrain {

namespace {

// A generator that is cheap to begin anew for each atom (splitmix64 of Steele, Lea and Flood, OOPSLA 2014).
class AtomRandom {
 public:
  AtomRandom(std::uint64_t seed, std::uint64_t number, std::uint64_t id) : state_(seed)
  {
    state_ = next() ^ number;
    state_ = next() ^ id;
  }
  // Normal with mean 0 and standard deviation 1 (Box-Muller, the cosine half).
  double normal()
  {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(6.283185307179586477 * uniform());
  }

 private:
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }
  std::uint64_t next()
  {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

// Of all moving atoms on all ranks.
struct Motion {
  std::array<double, 3> center{};  // velocity of the center of mass
  double energy = 0.0;             // kinetic, relative to it, twice
};

double square(const double *v)
{
  return v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
}

Motion motion_of(const Communicator &comm, const MovingAtoms &atoms)
{
  double sums[5] = {};  // mass, momentum, twice the energy
  for (std::int64_t i = 0; i < atoms.n; ++i) {
    const double *v = atoms.velocity + 3 * i;
    if (square(v) == 0.0) continue;
    sums[0] += atoms.mass[i];
    for (int k = 0; k < 3; ++k) sums[1 + k] += atoms.mass[i] * v[k];
    sums[4] += atoms.mass[i] * square(v);
  }
  comm.all_reduce_sum(sums, 5);
  Motion motion;
  if (sums[0] == 0.0) return motion;
  for (int k = 0; k < 3; ++k) motion.center[k] = sums[1 + k] / sums[0];
  motion.energy = sums[4] - sums[0] * square(motion.center.data());
  return motion;
}

}  // namespace

void stir_velocities(const Communicator &comm, const MovingAtoms &atoms, double strength,
                     std::uint64_t seed, std::uint64_t number)
{
  const Motion before = motion_of(comm, atoms);
  for (std::int64_t i = 0; i < atoms.n; ++i) {
    double *v = atoms.velocity + 3 * i;
    const double width = strength * std::sqrt(square(v));
    AtomRandom random(seed, number, static_cast<std::uint64_t>(atoms.id[i]));
    for (int k = 0; k < 3; ++k) v[k] += width * random.normal();
  }
  const Motion after = motion_of(comm, atoms);
  if (!(after.energy > 0.0)) return;
  const double scale = std::sqrt(std::fmax(before.energy, 0.0) / after.energy);
  for (std::int64_t i = 0; i < atoms.n; ++i) {
    double *v = atoms.velocity + 3 * i;
    if (square(v) == 0.0) continue;
    for (int k = 0; k < 3; ++k) v[k] = before.center[k] + scale * (v[k] - after.center[k]);
  }
}

}  // namespace dptrain
