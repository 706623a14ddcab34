#include "model/gemm.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>

#include "kernels/memory.h"

namespace dptrain {
namespace {

template <class Real> at::Tensor matrix(const Real *data, long rows, long columns)
{
  auto options = at::TensorOptions().dtype(sizeof(Real) == 8 ? at::kDouble : at::kFloat);
  if (kernels::separate_memory()) options = options.device(at::kCUDA);
  return at::from_blob(const_cast<Real *>(data), {rows, columns}, options);
}

template <class Real> at::Tensor operand(const Real *data, bool transpose, long rows, long columns)
{
  return transpose ? matrix(data, columns, rows).t() : matrix(data, rows, columns);
}

}  // namespace

template <class Real>
void gemm(bool transpose_a, bool transpose_b, long m, long n, long k, Real alpha, const Real *a,
          const Real *b, Real beta, Real *c)
{
  const c10::InferenceMode no_autograd;
  ++kernels::counters().products;
  auto target = matrix(c, m, n);
  const auto left = operand(a, transpose_a, m, k), right = operand(b, transpose_b, k, n);
  if (beta == Real(0) && alpha == Real(1))
    at::mm_out(target, left, right);
  else
    at::addmm_out(target, target, left, right, static_cast<double>(beta), static_cast<double>(alpha));
}

template void gemm(bool, bool, long, long, long, double, const double *, const double *, double,
                   double *);
template void gemm(bool, bool, long, long, long, float, const float *, const float *, float,
                   float *);

ReducedPrecision::ReducedPrecision(bool on) : on_(on)
{
  if (on_) at::globalContext().setFloat32MatmulPrecision("medium");
}

ReducedPrecision::~ReducedPrecision()
{
  if (on_) at::globalContext().setFloat32MatmulPrecision("highest");
}

}  // namespace dptrain
