#pragma once

#include <cstdint>

#include "dptrain/input/config.h"

namespace dptrain {

/// What one number adds to the loss: x^2, |x|, or x^2/2 up to delta and delta (|x| - delta/2) beyond (Huber).
struct Penalty {
  LossFunction function;
  double delta;
  double value(double x) const;
  double slope(double x) const;
};

/// The penalty of the error of a number that grows with the number of atoms N: error^2 / N (intensive: N^2), |error| / N,
/// or Huber's of error / N.
class ExtensivePenalty {
 public:
  ExtensivePenalty(const LossConfig &config, double delta, std::int64_t natoms);
  double value(double error) const { return factor_ * penalty_.value(scale_ * error); }
  double slope(double error) const { return factor_ * scale_ * penalty_.slope(scale_ * error); }

 private:
  Penalty penalty_;
  double factor_, scale_;
};

}  // namespace dptrain
