#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "dptrain/input/config.h"

namespace dptrain {

/// Running means of the gradient and of its square with Adam's bias correction (Kingma and Ba, arXiv 1412.6980), in the
/// form of PyTorch: epsilon is added after the correction of the square root. Kept and computed in T (double or float).
template <class T> class Moments {
 public:
  Moments(const OptimizerConfig &config, std::size_t size) :
      mean(size, T(0)),
      square(size, T(0)),
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

  /// For k in [begin, end): accumulates gradient(k) and calls apply(k, c) with the change c that is to be subtracted.
  template <class Gradient, class Apply>
  void step(std::size_t begin, std::size_t end, const Correction &correction, Gradient gradient,
            Apply apply)
  {
    const T b1(beta1_), b2(beta2_), c1(1.0 - beta1_), c2(1.0 - beta2_), epsilon(epsilon_);
    const T rate(correction.rate), inverse_root(correction.inverse_root);
    T *m = mean.data(), *v = square.data();
#pragma omp simd
    for (std::size_t k = begin; k < end; ++k) {
      const T g = gradient(k);
      m[k] = b1 * m[k] + c1 * g;
      v[k] = b2 * v[k] + c2 * g * g;
      apply(k, rate * m[k] / (std::sqrt(v[k]) * inverse_root + epsilon));
    }
  }

  std::vector<T> mean, square;

 private:
  double beta1_, beta2_, epsilon_;
};

}  // namespace dptrain
