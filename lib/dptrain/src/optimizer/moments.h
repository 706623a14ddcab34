#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "dptrain/config.h"

namespace dptrain {

/// Running means of the gradient and of its square with Adam's bias correction (Kingma and Ba, arXiv 1412.6980), in the
/// form of PyTorch: epsilon is added after the correction of the square root.
class Moments {
 public:
  Moments(const OptimizerConfig &config, std::size_t size) :
      mean(size, 0.0),
      square(size, 0.0),
      beta1_(*config.beta1),
      beta2_(*config.beta2),
      epsilon_(config.epsilon)
  {
  }

  /// Starts the next step, at learning rate lr.
  void begin_step(double lr)
  {
    ++steps;
    rate_ = lr / (1.0 - std::pow(beta1_, static_cast<double>(steps)));
    root_ = std::sqrt(1.0 - std::pow(beta2_, static_cast<double>(steps)));
  }

  /// For k in [begin, end): takes up gradient(k) and calls apply(k, c) with the change c that is to be subtracted.
  template <class Gradient, class Apply>
  void step(std::size_t begin, std::size_t end, Gradient gradient, Apply apply)
  {
    const double b1 = beta1_, b2 = beta2_, epsilon = epsilon_, rate = rate_, root = root_;
    double *m = mean.data(), *v = square.data();
    for (std::size_t k = begin; k < end; ++k) {
      const double g = gradient(k);
      m[k] = b1 * m[k] + (1.0 - b1) * g;
      v[k] = b2 * v[k] + (1.0 - b2) * g * g;
      apply(k, rate * m[k] / (std::sqrt(v[k]) / root + epsilon));
    }
  }

  std::vector<double> mean, square;
  std::int64_t steps = 0;

 private:
  double beta1_, beta2_, epsilon_, rate_ = 0.0, root_ = 1.0;
};

}  // namespace dptrain
