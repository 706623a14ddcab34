#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dptrain/input/config.h"
#include "optimizer/moments.h"

namespace dptrain {

/// SOAP of one weight matrix [rows][cols], in T (double or float). For each side that is not longer
/// than max_precondition_dim: the running mean of G G^T (rows) or G^T G (columns) and an orthonormal basis that follows
/// its eigenvectors. In these bases the step is Adam's. The first gradient that is not zero gives the bases and no step:
/// in its own eigenvectors it is diagonal but for rounding, which Adam would blow up to full size. All tensors are kept:
/// only the refresh of the bases allocates.
template <class T> class SoapMatrix {
 public:
  /// The matrix begins at `offset` of the own range.
  SoapMatrix(const OptimizerConfig &config, std::size_t offset, std::int64_t rows,
             std::int64_t cols);
  /// One step; both arrays begin with the own range.
  void step(Moments<T> &moments, double *parameters, const double *gradient, double lr);

  /// True if at least one side is preconditioned. Otherwise the matrix is for Adam.
  static bool applies(const OptimizerConfig &config, std::int64_t rows, std::int64_t cols);
  static std::size_t state_size(const OptimizerConfig &config, std::int64_t rows,
                                std::int64_t cols);
  /// Writes the state beside the moments, and returns the place behind it.
  double *pack(double *state) const;
  const double *unpack(const double *state);
  std::size_t memory_bytes() const;

 private:
  struct Side {
    at::Tensor covariance, basis, basis_t, product;  // [n][n], undefined if the side has none
    bool active() const { return covariance.defined(); }
  };
  struct Buffer {
    at::Tensor matrix, transposed;  // the second is a view of the first
  };

  Side make_side(std::int64_t n) const;
  template <class Number> void load(const Number *values);
  void to_basis();
  void from_basis();
  void multiply(const at::Tensor &left, const at::Tensor &right);
  void find_eigenvectors(Side &side);
  void refresh(Side &side);
  void refresh_bases(Moments<T> &moments);
  void accumulate(Moments<T> &moments, const double *gradient);

  OptimizerConfig config_;
  std::size_t offset_;
  std::int64_t rows_, cols_;
  Side left_, right_;
  Buffer work_, spare_;         // [rows][cols]
  std::int64_t gradients_ = 0;  // accumulated, from the first one that is not zero
};

}  // namespace dptrain
