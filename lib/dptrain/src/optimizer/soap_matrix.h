#pragma once

#include <cstddef>
#include <vector>

#include "dptrain/input/config.h"
#include "kernels/vectors.h"
#include "optimizer/moments.h"
#include "potential/nets/tensors.h"

namespace dptrain {

/// SOAP of one weight matrix [rows][cols], in T (double or float), in the memory of the kernels. For each side: the running mean of
/// G G^T (rows) or G^T G (columns) and an orthonormal basis that follows its eigenvectors. Of a side that is longer than
/// max_precondition_dim these are the diagonal blocks, as few and as equal as possible, none longer than that: memory and
/// time grow with the length of the side, not with its square. In these bases the step is Adam's. The first gradient that is not zero gives the bases and no step:
/// in its own eigenvectors it is diagonal but for rounding, which Adam would blow up to full size. Only the refresh of the
/// bases allocates.
template <class T> class SoapMatrix {
 public:
  /// The matrix begins at `offset` of the own range.
  SoapMatrix(const OptimizerConfig &config, std::size_t offset, std::int64_t rows,
             std::int64_t cols);
  /// What the next gradient is for.
  enum class Stage { silent, makes_bases, plain, refreshes };
  /// Takes up the next gradient; has_gradient: it is not zero, asked for while is_silent().
  Stage begin_step(bool has_gradient);
  /// All gradients so far were zero.
  bool is_silent() const { return gradients_ == 0; }
  Stage stage() const { return stage_; }
  /// Where its numbers are in the own range.
  kernels::Part part() const { return {static_cast<long>(offset_), size()}; }
  /// Steps in the bases, the present one counted.
  std::int64_t steps() const { return gradients_ - 1; }
  /// The step; both arrays begin with the own range. rates: of steps(). Several threads of a host may do this at once, for different
  /// matrices.
  void step(Moments<T> &moments, double *parameters, const double *gradient,
            const kernels::AdamRates *rates);

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
  using View = MatrixView<T>;
  struct Block {
    Block(std::int64_t begin, std::int64_t length);
    View view(const kernels::Array<T> &square) const { return {square.data(), length, length}; }
    std::int64_t begin, length;
    kernels::Array<T> covariance, basis, product;  // [length][length]
  };
  using Side = std::vector<Block>;  // its diagonal blocks

  long size() const { return static_cast<long>(rows_ * cols_); }
  static Side make_side(const OptimizerConfig &config, std::int64_t n);
  void to_basis();
  void from_basis();
  View view(const kernels::Array<T> &matrix) const { return {matrix.data(), rows_, cols_}; }
  static View rows_of(const View &matrix, const Block &block)
  {
    return matrix.row_block(block.begin, block.length);
  }
  static View columns_of(const View &matrix, const Block &block)
  {
    return matrix.column_block(block.begin, block.length);
  }
  void multiply(const Side &side, bool rows, bool transposed);
  void find_eigenvectors(Block &block);
  void refresh(Block &block);
  void refresh_bases(Moments<T> &moments);
  void accumulate(const double *gradient);

  OptimizerConfig config_;
  std::size_t offset_;
  std::int64_t rows_, cols_;
  Side left_, right_;
  kernels::Array<T> work_, spare_;  // [rows][cols]
  std::int64_t gradients_ = 0;      // accumulated, from the first one that is not zero
  Stage stage_ = Stage::silent;
};

}  // namespace dptrain
