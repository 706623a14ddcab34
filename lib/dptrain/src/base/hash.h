#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace dptrain {

/// A number that changes with any bit of the values (FNV-1a, word by word).
inline std::uint64_t hash_of(const std::vector<double> &values)
{
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const double &value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    hash = (hash ^ bits) * 0x100000001b3ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace dptrain
