#pragma once

#include <torch/types.h>

#include "kernels/gpus.h"

namespace dptrain {

/// Where LibTorch works on this rank: its GPU, or the processor.
inline torch::Device script_device()
{
#ifdef DPTRAIN_CUDA
  const int gpu = kernels::bound_gpu();
  if (gpu >= 0) return {torch::kCUDA, static_cast<torch::DeviceIndex>(gpu)};
#endif
  return torch::kCPU;
}

}  // namespace dptrain
