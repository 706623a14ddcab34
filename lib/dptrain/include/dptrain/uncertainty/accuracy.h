#pragma once

namespace dptrain {

/// The root mean square error of the force components that a user wants.
struct Accuracy {
  double value = 0.05;
  bool is_relative = true;  ///< to the root mean square of the force components; else eV/Angstrom

  /// eV/Angstrom, where the force components have this root mean square.
  double error(double force) const { return is_relative ? value * force : value; }
};

}  // namespace dptrain
