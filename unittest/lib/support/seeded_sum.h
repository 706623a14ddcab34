#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "both_passes.h"
#include "dptrain/potential/model/model.h"
#include "tiny_model.h"

namespace dptrain::test {

/// S = c E + sum_k r_k . F_k + C : W with some c, r and C, whose derivative by the parameters pass B gives.
class SeededSum {
 public:
  explicit SeededSum(const Domain &domain) : domain_(domain), residuals_(3L * domain.nall)
  {
    for (std::size_t k = 0; k < residuals_.size(); ++k) residuals_[k] = std::sin(1.0 + k);
    seed_.energy = 0.3;
    seed_.force = residuals_.data();
    seed_.virial = {0.2, -0.1, 0.0, 0.3, 0.1, 0.0, -0.2, 0.4, 0.1};
  }
  SeededSum(const SeededSum &) = delete;

  const GradientSeed &seed() const { return seed_; }
  double operator()(Model &model) const
  {
    const Result r = evaluate(model, domain_);
    double sum = seed_.energy * r.energy;
    for (std::size_t k = 0; k < residuals_.size(); ++k) sum += residuals_[k] * r.force[k];
    for (int k = 0; k < 9; ++k) sum += seed_.virial[k] * r.virial[k];
    return sum;
  }
  /// Central difference by parameter `which` around the values x.
  double difference(Model &model, const std::vector<double> &x, std::size_t which) const
  {
    constexpr double h = 1e-5;
    std::vector<double> moved = x;
    moved[which] += h;
    model.parameters().set(moved);
    const double up = (*this)(model);
    moved[which] -= 2 * h;
    model.parameters().set(moved);
    return (up - (*this)(model)) / (2 * h);
  }

 private:
  const Domain domain_;
  std::vector<double> residuals_;
  GradientSeed seed_;
};

/// The parameter gradient of the sum, which is compared with differences: what is left is `tolerance` times its largest component.
inline std::vector<double> expect_parameter_gradient(Model &model, const Domain &domain,
                                                     const SeededSum &sum, double tolerance)
{
  const std::vector<double> found = gradient_of(model, &domain, 1, &sum.seed());
  const std::vector<double> x = model.parameters().values();
  double size = 0.0;
  for (const double component : found) size = std::max(size, std::abs(component));
  for (std::size_t k = 0; k < x.size(); ++k)
    EXPECT_NEAR(found[k], sum.difference(model, x, k), tolerance * size) << k;
  model.parameters().set(x);
  return found;
}

}  // namespace dptrain::test
