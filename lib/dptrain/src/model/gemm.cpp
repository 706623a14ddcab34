#include "model/gemm.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#ifdef DPTRAIN_CUDA
#include <c10/cuda/CUDAGuard.h>
#endif

#include "kernels/memory.h"

namespace dptrain {
namespace {

template <class Real> at::Tensor matrix(const Real *data, long rows, long columns)
{
  auto options = at::TensorOptions().dtype(sizeof(Real) == 8 ? at::kDouble : at::kFloat);
  if (!kernels::separate_memory())
    return at::from_blob(const_cast<Real *>(data), {rows, columns}, options);
  // named, so that LibTorch need not ask the driver for each matrix
  const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(kernels::device_index()));
  return at::for_blob(const_cast<Real *>(data), {rows, columns})
      .options(options.device(device))
      .target_device(device)
      .make_tensor();
}

#ifdef DPTRAIN_CUDA
// While it lives, LibTorch works in the stream of the kernels: products and kernels follow each other without a wait.
class InStreamOfKernels {
 private:
  c10::cuda::CUDAStreamGuard guard_{c10::cuda::getStreamFromExternal(
      static_cast<cudaStream_t>(kernels::device_stream()),
      static_cast<c10::DeviceIndex>(kernels::device_index()))};
};
#else
struct InStreamOfKernels {};
#endif

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
  [[maybe_unused]] const InStreamOfKernels stream;
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
