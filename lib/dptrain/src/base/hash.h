#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dptrain {

/// The hash of nothing.
constexpr std::uint64_t hash_start = 0xcbf29ce484222325ULL;

/// FNV-1a of these bytes, behind those that `hash` is of. A number that changes with any bit.
inline std::uint64_t hash_of(const void *data, std::size_t bytes, std::uint64_t hash)
{
  const auto *byte = static_cast<const unsigned char *>(data);
  for (std::size_t k = 0; k < bytes; ++k) hash = (hash ^ byte[k]) * 0x100000001b3ULL;
  return hash;
}

/// The same of numbers.
inline std::uint64_t hash_of(const std::vector<double> &values, std::uint64_t hash = hash_start)
{
  return hash_of(values.data(), values.size() * sizeof(double), hash);
}

}  // namespace dptrain
