#pragma once

#include <chrono>

namespace dptrain {

/// Seconds of wall time since `start`.
inline double seconds_since(std::chrono::steady_clock::time_point start)
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace dptrain
