#pragma once

namespace dptrain {

/// c [m][n] = alpha op(a) op(b) + beta c, row-major, op(x) = x or its transpose; op(a) is [m][k], op(b) is [k][n].
/// All pointers in the memory of the kernels. Through LibTorch, hence the vendor's library on every device.
template <class Real>
void gemm(bool transpose_a, bool transpose_b, long m, long n, long k, Real alpha, const Real *a,
          const Real *b, Real beta, Real *c);

/// While it lives (and `on`), products of float32 matrices are computed with operands of fewer digits and float32 sums,
/// where the device has that: bfloat16 on processors with AVX512_BF16, TF32 on CUDA. On the processor the product is
/// rounded to bfloat16 as well: LibTorch has no faster way to a float32 result (0.3 % of a product's norm instead of
/// 0.24 %, at twice the speed). Products with a side below 16 stay float32. For one thread at a time.
class ReducedPrecision {
 public:
  explicit ReducedPrecision(bool on);
  ~ReducedPrecision();
  ReducedPrecision(const ReducedPrecision &) = delete;
  ReducedPrecision &operator=(const ReducedPrecision &) = delete;
  /// Whether this device has such products.
  static bool has_effect();

 private:
  bool on_;
  bool reduced_before_ = false;
  int precision_before_ = 0;  // LibTorch's setting, which belongs to the host program
};

/// While it lives, products have all digits again, inside a ReducedPrecision too: for numbers that cancel each other.
class FullPrecision {
 public:
  FullPrecision();
  ~FullPrecision();
  FullPrecision(const FullPrecision &) = delete;
  FullPrecision &operator=(const FullPrecision &) = delete;

 private:
  bool reduced_before_;
};

}  // namespace dptrain
