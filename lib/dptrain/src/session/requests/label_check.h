#pragma once

#include <array>
#include <string>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Whether energies, forces and virials of a reference belong together: between two of its answers that lie close to each other the
/// energy changes by the work of forces and virial (trapezoid rule). Finds wrong units and signs of a client, of which a model
/// would learn what does not exist. Energy changes are fitted with a factor for the work of either; both should be one.
class LabelCheck {
 public:
  /// A label that has come. What is wrong with those so far, each fault once; empty if nothing is.
  std::string add(const WholeFrame &frame, const Label &label);

 private:
  /// Sums over pairs of products of the work of forces, that of the virial, and the loss of energy, eV^2.
  struct Sums {
    int pairs = 0;
    double forces2 = 0.0, both = 0.0, virial2 = 0.0, forces_energy = 0.0, virial_energy = 0.0,
           energy2 = 0.0;
    double largest_forces2 = 0.0, largest_virial2 = 0.0;  ///< of one pair
  };
  void compare(const WholeFrame &frame, const Label &label);
  std::string fault(int of, const Sums &sums, const char *text);

  WholeFrame last_;             ///< with its label
  Sums still_, deformed_;       ///< pairs with the same cell, and others
  std::array<bool, 2> told_{};  ///< of forces, of virial
};

}  // namespace dptrain
