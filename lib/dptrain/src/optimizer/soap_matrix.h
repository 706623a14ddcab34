#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dptrain/input/config.h"
#include "optimizer/moments.h"

namespace dptrain {

/// SOAP of one weight matrix [rows][cols], in T (double or float). For each side: the running mean of G G^T (rows) or
/// G^T G (columns) and an orthonormal basis that follows its eigenvectors. Of a side that is longer than
/// max_precondition_dim these are the diagonal blocks, as few and as equal as possible, none longer than that: memory and
/// time grow with the length of the side, not with its square. In these bases the step is Adam's. The first gradient that is not zero gives the bases and no step:
/// in its own eigenvectors it is diagonal but for rounding, which Adam would blow up to full size. All tensors are kept:
/// only the refresh of the bases allocates.
template <class T> class SoapMatrix {
 public:
  /// The matrix begins at `offset` of the own range.
  SoapMatrix(const OptimizerConfig &config, std::size_t offset, std::int64_t rows,
             std::int64_t cols);
  /// One step; both arrays begin with the own range.
  void step(Moments<T> &moments, double *parameters, const double *gradient, double lr);

  /// True if the matrix is preconditioned. Otherwise it is for Adam.
  static bool applies(const OptimizerConfig &config, std::int64_t rows, std::int64_t cols);
  /// Lengths of the blocks of a side of length n.
  static std::vector<std::int64_t> block_lengths(const OptimizerConfig &config, std::int64_t n);
  static std::size_t state_size(const OptimizerConfig &config, std::int64_t rows,
                                std::int64_t cols);
  /// Writes the state beside the moments, and returns the place behind it.
  double *pack(double *state) const;
  const double *unpack(const double *state);
  std::size_t memory_bytes() const;

 private:
  struct Block {
    std::int64_t begin, length;
    at::Tensor covariance, basis, basis_t, product;  // [length][length]
  };
  using Side = std::vector<Block>;  // its diagonal blocks
  struct Buffer {
    at::Tensor matrix, transposed;  // the second is a view of the first
  };

  static Side make_side(const OptimizerConfig &config, std::int64_t n);
  template <class Number> void load(const Number *values);
  void to_basis();
  void from_basis();
  at::Tensor rows_of(const at::Tensor &matrix, const Block &block) const;
  at::Tensor columns_of(const at::Tensor &matrix, const Block &block) const;
  void multiply_left(at::Tensor Block::*basis);
  void multiply_right(at::Tensor Block::*basis);
  void find_eigenvectors(Block &block);
  void refresh(Block &block);
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
