#pragma once

#include "kernels/memory.h"

namespace dptrain {

/// The coefficients c of radial functions among the parameters of a descriptor, and the products with them. Expansion coefficients
/// A = c M are linear in c, and the moments M of the neighbors do not depend on it: c [rows][columns], M [columns][vectors],
/// A [rows][vectors]. All pointers in the memory of the kernels.
template <class Real> class Expansion {
 public:
  /// Where one of the matrices c stands.
  struct Matrix {
    long begin, rows, columns;
  };

  /// The next matrix behind those that are there already: before the first use.
  Matrix append(long rows, long columns);
  /// Makes the present parameters those of the products.
  void prepare(const double *parameters);

  /// A of M.
  void expand(const Matrix &c, long vectors, const Real *moments, Real *a) const;
  /// dE/dM from dE/dA.
  void reverse(const Matrix &c, long vectors, const Real *g_a, Real *g_moments) const;

  void begin_gradient(double *gradient);
  /// Adds dS/dc of S = c E - E_dot: s_a = dS/dA and g_a = dE/dA = -dS/dA_dot, and the tangent of A is c times that of M.
  void add_gradient(const Matrix &c, long vectors, const Real *s_a, const Real *moments,
                    const Real *g_a, const Real *moments_dot);
  void flush_gradient();

  std::size_t memory_bytes() const;
  void release_workspace() { gradient_copy_.clear(); }

 private:
  static constexpr bool is_float64 = std::is_same_v<Real, double>;
  const Real *parameters(const Matrix &c) const;

  long size_ = 0;
  const double *parameters_ = nullptr;
  double *gradient_ = nullptr;
  kernels::Array<Real> parameters_copy_, gradient_copy_;  // where the precision is another
};

}  // namespace dptrain
