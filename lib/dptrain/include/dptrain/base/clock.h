#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace dptrain {

/// Where a waiting object takes the time from. Tests set their own, so that nothing depends on how fast a machine is.
struct Clock {
  /// Seconds since some moment.
  std::function<double()> now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  std::function<void(double)> sleep = [](double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  };
};

}  // namespace dptrain
