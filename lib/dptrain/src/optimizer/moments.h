#pragma once

#include <cmath>
#include <cstdint>

#include "dptrain/input/config.h"
#include "kernels/adam.h"
#include "kernels/memory.h"

namespace dptrain {

/// Running means of the gradient and of its square, with Adam's bias correction (kernels/adam.h). Kept and computed in T (double
/// or float), in the memory of the kernels.
template <class T> struct Moments {
  Moments(const OptimizerConfig &config, std::size_t size) :
      constants{static_cast<T>(*config.beta1),
                static_cast<T>(*config.beta2),
                static_cast<T>(1.0 - *config.beta1),
                static_cast<T>(1.0 - *config.beta2),
                static_cast<T>(config.epsilon),
                static_cast<T>(config.type == OptimizerType::adam ? *config.weight_decay : 0.0)},
      config(config)
  {
    mean.resize_clear(size);
    square.resize_clear(size);
  }

  /// Of step number `steps` (from 1) at learning rate lr.
  kernels::AdamRates rates(std::int64_t steps, double lr) const
  {
    const double t = static_cast<double>(steps);
    const bool coupled = config.type == OptimizerType::adam;
    return {lr / (1.0 - std::pow(*config.beta1, t)),
            1.0 / std::sqrt(1.0 - std::pow(*config.beta2, t)),
            coupled ? 1.0 : 1.0 - lr * *config.weight_decay};
  }
  std::size_t memory_bytes() const { return mean.memory_bytes() + square.memory_bytes(); }

  kernels::AdamConstants<T> constants;
  OptimizerConfig config;
  kernels::Array<T> mean, square;
};

}  // namespace dptrain
