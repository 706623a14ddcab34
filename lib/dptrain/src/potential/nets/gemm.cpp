#include "potential/nets/gemm.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/memory.h"
#include "potential/nets/tensors.h"

namespace dptrain {
namespace {

template <class Real> at::Tensor matrix_of(const Real *data, long rows, long columns)
{
  return MatrixView<Real>{data, rows, columns}.tensor();
}

template <class Real> at::Tensor operand(const Real *data, bool transpose, long rows, long columns)
{
  if (!transpose) return matrix_of(data, rows, columns);
  return MatrixView<Real>{data, columns, rows}.transposed().tensor();
}

thread_local bool reduced = false;

// A matrix in bfloat16 in memory that is used again and again.
class Bfloat16Matrix {
 public:
  at::Tensor resize(long rows, long columns)
  {
    numbers_.resize(std::max<std::size_t>(numbers_.size(), rows * columns));
    return at::from_blob(numbers_.data(), {rows, columns},
                         at::TensorOptions().dtype(at::kBFloat16));
  }
  at::Tensor operand(const float *data, bool transpose, long rows, long columns)
  {
    if (transpose) return operand(data, false, columns, rows).t();
    at::Tensor numbers = resize(rows, columns);
    numbers.copy_(matrix_of(data, rows, columns));
    return numbers;
  }

 private:
  std::vector<std::uint16_t> numbers_;
};

// Without these instructions products of bfloat16 matrices are slower than those of float32 ones.
bool has_bfloat16_instructions()
{
#if defined(__x86_64__)
  static const bool found = __builtin_cpu_supports("avx512bf16");
  return found;
#else
  return false;
#endif
}

// LibTorch rounds float32 operands to bfloat16 by itself only where the processor has matrix units (AMX).
bool takes_bfloat16(long m, long n, long k)
{
  constexpr long shortest = 16;  // side of a product that is worth the conversion
  return reduced && !kernels::separate_memory() && std::min({m, n, k}) >= shortest &&
         has_bfloat16_instructions();
}

// The sums of the product are float32, rounded once at the end; alpha, beta and c are float32.
void bfloat16_gemm(bool transpose_a, bool transpose_b, long m, long n, long k, float alpha,
                   const float *a, const float *b, float beta, float *c)
{
  static thread_local Bfloat16Matrix left, right, result;
  at::Tensor product = result.resize(m, n), target = matrix_of(c, m, n);
  at::mm_out(product, left.operand(a, transpose_a, m, k), right.operand(b, transpose_b, k, n));
  if (beta == 0.0f) {
    target.copy_(product);
    if (alpha != 1.0f) target.mul_(alpha);
    return;
  }
  if (beta != 1.0f) target.mul_(beta);
  target.add_(product, alpha);
}

}  // namespace

namespace {

template <class Real>
void product(bool transpose_a, bool transpose_b, long m, long n, long k, Real alpha, const Real *a,
             const Real *b, Real beta, Real *c)
{
  if constexpr (sizeof(Real) == 4)
    if (takes_bfloat16(m, n, k))
      return bfloat16_gemm(transpose_a, transpose_b, m, n, k, alpha, a, b, beta, c);
  auto target = matrix_of(c, m, n);
  const auto left = operand(a, transpose_a, m, k), right = operand(b, transpose_b, k, n);
  if (beta == Real(0) && alpha == Real(1))
    at::mm_out(target, left, right);
  else
    at::addmm_out(target, target, left, right, static_cast<double>(beta),
                  static_cast<double>(alpha));
}

}  // namespace

template <class Real>
void gemm(bool transpose_a, bool transpose_b, long m, long n, long k, Real alpha, const Real *a,
          const Real *b, Real beta, Real *c)
{
  if (!kernels::is_recording() && !kernels::is_skipping()) ++kernels::counters().products;
  in_torch("gemm", [=] { product(transpose_a, transpose_b, m, n, k, alpha, a, b, beta, c); });
}

template void gemm(bool, bool, long, long, long, double, const double *, const double *, double,
                   double *);
template void gemm(bool, bool, long, long, long, float, const float *, const float *, float,
                   float *);

ReducedPrecision::ReducedPrecision(bool on) : on_(on)
{
  if (!on_) return;
  reduced_before_ = reduced;
  precision_before_ = static_cast<int>(at::globalContext().float32MatmulPrecision());
  reduced = true;
  at::globalContext().setFloat32MatmulPrecision("medium");
}

ReducedPrecision::~ReducedPrecision()
{
  if (!on_) return;
  reduced = reduced_before_;
  const char *const names[] = {"highest", "high", "medium"};  // of at::Float32MatmulPrecision
  at::globalContext().setFloat32MatmulPrecision(names[precision_before_]);
}

FullPrecision::FullPrecision() : reduced_before_(reduced)
{
  if (!reduced_before_) return;
  reduced = false;
  at::globalContext().setFloat32MatmulPrecision("highest");
}

FullPrecision::~FullPrecision()
{
  if (!reduced_before_) return;
  reduced = true;
  at::globalContext().setFloat32MatmulPrecision("medium");
}

bool ReducedPrecision::has_effect()
{
#ifdef DPTRAIN_CUDA
  return true;
#else
  return !kernels::separate_memory() && has_bfloat16_instructions();
#endif
}

}  // namespace dptrain
