#pragma once

#include <array>
#include <cstddef>

#include "dptrain/commands/commands.h"

namespace dptrain {

/// What a test compares, in the order of the report.
enum TestQuantity : std::size_t {
  test_energy,
  test_energy_per_atom,
  test_force,
  test_weighted_force,
  test_virial,
  test_virial_per_atom,
  test_stress,
  test_atomic_energy,
  num_test_quantities
};

/// Sums over the values of one quantity, from which the errors follow. Only numbers, so that ranks can exchange it.
struct ErrorSum {
  double absolute = 0.0, square = 0.0, weight = 0.0;
  double labels = 0.0;  ///< number of frames with the label

  void add(double difference, double weight_of_it = 1.0);
  void add(const ErrorSum &other);
  TestError error() const;
};

using ErrorSums = std::array<ErrorSum, num_test_quantities>;

TestErrors errors_of(const ErrorSums &sums);

/// One line for each MAE and RMSE that was found, word by word those of `dp test`.
void print_errors(const TestErrors &errors, const Log &log);

}  // namespace dptrain
