#pragma once

#include <cstddef>

namespace dptrain {

class Communicator;

/// Moves per-atom values between the owned atoms of a domain and its ghosts. Arrays are [nlocal + nghost][width], owned
/// atoms first. Collective.
class Halo {
 public:
  virtual ~Halo() = default;
  /// Each ghost gets the value of its owner.
  virtual void exchange(double *values, int width) const = 0;
  /// Each owner gets the values of its ghosts added; ghosts keep theirs.
  virtual void reduce(double *values, int width) const = 0;
  /// The ranks that have the frame together; null: this one alone.
  virtual const Communicator *ranks() const { return nullptr; }
  virtual std::size_t memory_bytes() const { return 0; }
};

}  // namespace dptrain
