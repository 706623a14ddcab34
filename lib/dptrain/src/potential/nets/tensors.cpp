#include "potential/nets/tensors.h"

#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#ifdef DPTRAIN_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#endif

#include "kernels/memory.h"

namespace dptrain {

#ifdef DPTRAIN_CUDA
namespace {

c10::cuda::CUDAStream stream_of_kernels()
{
  // matrices made from pointers do not start LibTorch's part of CUDA by themselves
  at::globalContext().lazyInitDevice(at::kCUDA);
  return c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(kernels::device_stream()),
                                          static_cast<c10::DeviceIndex>(kernels::device_index()));
}

// Memory that LibTorch takes for a command is given to others afterwards: a graph must not have such a command.
class WatchedMemory {
 public:
  WatchedMemory() : before_(kernels::is_recording() ? taken() : 0) {}
  ~WatchedMemory()
  {
    if (kernels::is_recording() && taken() != before_) ++kernels::counters().allocations;
  }
  WatchedMemory(const WatchedMemory &) = delete;
  WatchedMemory &operator=(const WatchedMemory &) = delete;

 private:
  static std::int64_t taken()
  {
    const auto device = static_cast<c10::DeviceIndex>(kernels::device_index());
    return c10::cuda::CUDACachingAllocator::getDeviceStats(device).allocation.at(0).allocated;
  }
  std::int64_t before_;
};

}  // namespace
#endif

void call_in_torch(void (*call)(const void *), const void *work)
{
  const c10::InferenceMode no_autograd;
#ifdef DPTRAIN_CUDA
  const c10::cuda::CUDAStreamGuard stream(stream_of_kernels());
  const WatchedMemory memory;
#endif
  call(work);
}

template <class Real> at::Tensor MatrixView<Real>::tensor() const
{
  const auto options = at::TensorOptions().dtype(sizeof(Real) == 8 ? at::kDouble : at::kFloat);
  const std::int64_t sizes[] = {number, rows, columns},
                     strides[] = {stride, row_stride, column_stride};
  const std::size_t first = number > 1 ? 0 : 1;
  auto maker = at::for_blob(const_cast<Real *>(data), at::IntArrayRef(sizes).slice(first));
  maker.strides(at::IntArrayRef(strides).slice(first));
  if (kernels::device_index() < 0) return maker.options(options).make_tensor();
  // named, so that LibTorch need not ask the driver for each matrix
  const at::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(kernels::device_index()));
  return maker.options(options.device(device)).target_device(device).make_tensor();
}

template struct MatrixView<double>;
template struct MatrixView<float>;

}  // namespace dptrain
