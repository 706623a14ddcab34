#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace dptrain {

/// Random numbers that are the same with every compiler and library: the engine is fixed by the C++ standard, the
/// distributions are ours (those of the standard are not).
using RandomEngine = std::mt19937_64;

/// The engine that belongs to the number of a draw: draws can be repeated without those before them.
inline RandomEngine numbered_engine(std::uint64_t seed, std::uint64_t number)
{
  std::seed_seq sequence{std::uint32_t(seed), std::uint32_t(seed >> 32), std::uint32_t(number),
                         std::uint32_t(number >> 32)};
  return RandomEngine(sequence);
}

/// Uniform in (0, 1).
inline double random_uniform(RandomEngine &engine)
{
  return (static_cast<double>(engine() >> 11) + 0.5) * 0x1.0p-53;
}

/// Normal with mean 0 and standard deviation 1 (Box-Muller, the cosine half).
inline double random_normal(RandomEngine &engine)
{
  const double two_pi = 6.283185307179586477;
  const double radius = std::sqrt(-2.0 * std::log(random_uniform(engine)));
  return radius * std::cos(two_pi * random_uniform(engine));
}

/// Uniform in 0 .. n - 1.
inline std::uint64_t random_index(RandomEngine &engine, std::uint64_t n)
{
  const std::uint64_t limit = RandomEngine::max() - RandomEngine::max() % n;
  for (;;)
    if (const std::uint64_t draw = engine(); draw < limit) return draw % n;
}

}  // namespace dptrain
