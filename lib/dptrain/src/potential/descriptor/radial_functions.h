#pragma once

#include <cstddef>

namespace dptrain {

/// Functions of one number, each with many channels, that depend on parameters: what a RadialTable tabulates. They are given
/// as Taylor jets in float64; all pointers in the memory of the kernels.
class RadialFunctions {
 public:
  /// Two places for what jets() leaves for reverse(), which do not disturb each other.
  enum class Place { knots, elsewhere };

  virtual ~RadialFunctions() = default;
  virtual int number() const = 0;    ///< of functions
  virtual int channels() const = 0;  ///< of each
  /// False where a function or a derivative has kinks: no table can follow them.
  virtual bool smooth() const = 0;

  /// Function k at n arguments: x [order + 1][n] has the arguments, and their first and second derivative along one
  /// direction. Returns values and derivatives [order + 1][n][channels], valid until the next call for k and this place (or,
  /// elsewhere, for any k).
  virtual const double *jets(int k, Place place, const double *parameters, int n, int order,
                             const double *x) = 0;
  /// The transpose of the latest jets() of this place, which was for k: adds to the gradient by the parameters what
  /// g [order + 1][n][channels] gives.
  virtual void reverse(int k, Place place, const double *parameters, int n, int order,
                       const double *g, double *gradient) = 0;
  virtual std::size_t memory_bytes() const = 0;
};

}  // namespace dptrain
