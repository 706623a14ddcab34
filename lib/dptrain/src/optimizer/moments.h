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

  /// What turns the means into a change, in step number `steps` (from 1) at learning rate lr.
  struct Correction {
    double rate, inverse_root;
  };
  Correction correction(std::int64_t steps, double lr) const
  {
    const double t = static_cast<double>(steps);
    return {lr / (1.0 - std::pow(beta1_, t)), 1.0 / std::sqrt(1.0 - std::pow(beta2_, t))};
  }

  /// For k in [begin, end): takes up gradient(k) and calls apply(k, c) with the change c that is to be subtracted.
  template <class Gradient, class Apply>
  void step(std::size_t begin, std::size_t end, const Correction &correction, Gradient gradient,
            Apply apply)
  {
    const double b1 = beta1_, b2 = beta2_, epsilon = epsilon_;
    const double rate = correction.rate, inverse_root = correction.inverse_root;
    double *m = mean.data(), *v = square.data();
#pragma omp simd
    for (std::size_t k = begin; k < end; ++k) {
      const double g = gradient(k);
      m[k] = b1 * m[k] + (1.0 - b1) * g;
      v[k] = b2 * v[k] + (1.0 - b2) * g * g;
      apply(k, rate * m[k] / (std::sqrt(v[k]) * inverse_root + epsilon));
    }
  }

  std::vector<double> mean, square;

 private:
  double beta1_, beta2_, epsilon_;
};

}  // namespace dptrain
