#pragma once

#include <cstddef>
#include <vector>

#include "dptrain/input/config.h"
#include "kernels/vectors.h"
#include "optimizer/moments.h"
#include "potential/nets/tensors.h"

namespace dptrain {

/// SOAP of weight matrices [rows][cols] of one size, in T (double or float), in the memory of the kernels. For each side of each: the
/// running mean of G G^T (rows) or G^T G (columns) and an orthonormal basis that follows its eigenvectors. Of a side that is longer than
/// max_precondition_dim these are the diagonal blocks, as few and as equal as possible, none longer than that: memory and
/// time grow with the length of the side, not with its square. In these bases the step is Adam's. The first gradient that is not zero gives the bases and no step:
/// in its own eigenvectors it is diagonal but for rounding, which Adam would blow up to full size. Only the refresh of the
/// bases allocates.
///
/// Matrices that follow each other and are at the same stage are worked on as one: a device takes as long for one small product as
/// for several.
template <class T> class SoapMatrices {
 public:
  /// The matrices begin at `offsets` of the own range.
  SoapMatrices(const OptimizerConfig &config, const std::vector<long> &offsets, std::int64_t rows,
               std::int64_t cols);
  int number() const { return static_cast<int>(matrices_.size()); }
  /// What the next gradient of a matrix is for.
  enum class Stage { silent, makes_bases, plain, refreshes };
  /// Takes up the next gradient of matrix m; has_gradient: it is not zero, asked for while is_silent().
  void begin_step(int m, bool has_gradient);
  /// All gradients of matrix m so far were zero.
  bool is_silent(int m) const { return matrices_[m].gradients == 0; }
  Stage stage(int m) const { return matrices_[m].stage; }
  /// Where the numbers of matrix m are in the own range.
  kernels::Part part(int m) const { return {matrices_[m].offset, size()}; }
  /// Steps of matrix m in the bases, the present one counted.
  std::int64_t steps(int m) const { return matrices_[m].gradients - 1; }
  /// The step of the matrices whose stage is plain (`plain`), or of all others; both arrays begin with the own range. rates
  /// [number] of steps(m). Several threads of a host may do this at once, for different objects.
  void step(bool plain, Moments<T> &moments, double *parameters, const double *gradient,
            const kernels::AdamRates *rates);

  /// True if a matrix is preconditioned. Otherwise it is for Adam.
  static bool applies(const OptimizerConfig &config, std::int64_t rows, std::int64_t cols);
  /// Lengths of the blocks of a side of length n.
  static std::vector<std::int64_t> block_lengths(const OptimizerConfig &config, std::int64_t n);
  /// Of one matrix.
  static std::size_t state_size(const OptimizerConfig &config, std::int64_t rows,
                                std::int64_t cols);
  /// Writes the state of matrix m beside the moments, and returns the place behind it.
  double *pack(int m, double *state) const;
  const double *unpack(int m, const double *state);
  std::size_t memory_bytes() const;

 private:
  using View = MatrixView<T>;
  struct Matrix {
    long offset;
    std::int64_t gradients = 0;  // accumulated, from the first one that is not zero
    Stage stage = Stage::silent;
  };
  // Matrices of equal stage, one after the other.
  struct Run {
    int first, number;
  };
  struct Block {
    Block(std::int64_t begin, std::int64_t length, int number);
    T *of(kernels::Array<T> &squares, int m) const { return squares.data() + m * length * length; }
    const T *of(const kernels::Array<T> &squares, int m) const
    {
      return squares.data() + m * length * length;
    }
    View view(const Run &run, const kernels::Array<T> &squares) const
    {
      return {of(squares, run.first), length, length, length, 1, run.number, length * length};
    }
    std::int64_t begin, length;
    kernels::Array<T> covariance, basis, product;  // [number][length][length]
  };
  using Side = std::vector<Block>;  // its diagonal blocks

  long size() const { return static_cast<long>(rows_ * cols_); }
  kernels::MatrixPlaces places(const Run &run) const
  {
    return {offsets_.data() + run.first, run.number, size()};
  }
  T *of(const Run &run, kernels::Array<T> &matrices) const
  {
    return matrices.data() + run.first * size();
  }
  View view(const Run &run, const kernels::Array<T> &matrices) const
  {
    return {matrices.data() + run.first * size(), rows_, cols_, cols_, 1, run.number, size()};
  }
  Side make_side(std::int64_t n) const;
  void step(const Run &run, Moments<T> &moments, double *parameters, const double *gradient,
            const kernels::AdamRates *rates);
  void accumulate(const Run &run);
  void multiply(const Run &run, const Side &side, bool rows, bool transposed,
                const kernels::Array<T> &from, kernels::Array<T> &to);
  void to_basis(const Run &run);
  void from_basis(const Run &run);
  void find_eigenvectors(Block &block, int m);
  void refresh(const Run &run, const Block &block);
  void refresh_bases(const Run &run, Moments<T> &moments);

  OptimizerConfig config_;
  std::int64_t rows_, cols_;
  std::vector<Matrix> matrices_;
  kernels::Array<long> offsets_;  // [number]
  Side left_, right_;
  kernels::Array<T> work_, spare_;  // [number][rows][cols]
};

}  // namespace dptrain
