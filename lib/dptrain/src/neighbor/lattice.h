#pragma once

#include <array>

namespace dptrain {

/// A periodic cell of any shape and orientation: rows a, b, c in Angstrom, origin at zero.
class Lattice {
 public:
  /// Throws Error if a number is not finite or the volume is zero.
  explicit Lattice(const std::array<double, 9> &box);

  /// Fractional coordinates of a point.
  std::array<double, 3> fractional(const double *x) const;
  /// Adds n[0] a + n[1] b + n[2] c to x. Does not touch x where all n are zero.
  void shift(double *x, const std::array<int, 3> &n) const;
  /// Distance between the two faces that are crossed along lattice vector d.
  double height(int d) const { return height_[d]; }
  double length(int d) const { return length_[d]; }
  /// Angstrom^3.
  double volume() const { return volume_; }

 private:
  std::array<double, 9> box_;
  std::array<double, 9> reciprocal_;  // rows: b x c / V, c x a / V, a x b / V
  std::array<double, 3> height_, length_;
  double volume_;
};

}  // namespace dptrain
