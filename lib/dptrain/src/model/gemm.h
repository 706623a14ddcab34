#pragma once

namespace dptrain {

/// c [m][n] = alpha op(a) op(b) + beta c, row-major, op(x) = x or its transpose; op(a) is [m][k], op(b) is [k][n].
/// All pointers in the memory of the kernels. Through LibTorch, hence the vendor's library on every device.
template <class Real>
void gemm(bool transpose_a, bool transpose_b, long m, long n, long k, Real alpha, const Real *a,
          const Real *b, Real beta, Real *c);

/// While it lives (and `on`), products of float32 matrices may be computed in bfloat16 (CPU) or TF32 (CUDA) with float32
/// sums, where the device has that.
class ReducedPrecision {
 public:
  explicit ReducedPrecision(bool on);
  ~ReducedPrecision();
  ReducedPrecision(const ReducedPrecision &) = delete;
  ReducedPrecision &operator=(const ReducedPrecision &) = delete;

 private:
  bool on_;
};

}  // namespace dptrain
