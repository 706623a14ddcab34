#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "tiny_model.h"

namespace dptrain::test {

/// Forces and virial of a model against central differences of its energy with steps of 1e-5 Angstrom, and strains of 1e-5.
/// What is left is 1e-10 times third derivatives, and the rounding of energies divided by 1e-5.
inline void expect_energy_derivatives(Model &model, Cluster atoms, double force_tolerance,
                                      double virial_tolerance)
{
  constexpr double h = 1e-5;
  const Result found = evaluate(model, atoms.domain());
  double largest = 0.0;
  for (std::size_t k = 0; k < atoms.x.size(); ++k) {
    const double x = atoms.x[k];
    atoms.x[k] = x + h;
    const double up = evaluate(model, atoms.domain()).energy;
    atoms.x[k] = x - h;
    const double down = evaluate(model, atoms.domain()).energy;
    atoms.x[k] = x;
    EXPECT_NEAR(found.force[k], -(up - down) / (2 * h), force_tolerance) << k;
    largest = std::max(largest, std::abs(found.force[k]));
  }
  EXPECT_GT(largest, 0.01);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const auto strained = [&](double size) {
        Cluster moved = atoms;
        for (std::size_t i = 0; i < moved.type.size(); ++i)
          moved.x[3 * i + a] += size * atoms.x[3 * i + b];
        return evaluate(model, moved.domain()).energy;
      };
      EXPECT_NEAR(found.virial[3 * a + b], -(strained(h) - strained(-h)) / (2 * h),
                  virial_tolerance);
    }
}

}  // namespace dptrain::test
