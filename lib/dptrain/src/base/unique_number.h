#pragma once

#include <atomic>
#include <cstdint>

namespace dptrain {

/// A number that no other call in this process gives, larger than those before; never 0.
inline std::uint64_t unique_number()
{
  static std::atomic<std::uint64_t> latest{0};
  return ++latest;
}

}  // namespace dptrain
