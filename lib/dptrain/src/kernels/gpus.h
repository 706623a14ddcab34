#pragma once

#include "dptrain/device.h"

namespace dptrain::kernels {

/// GPUs that this process sees; 0 where kernels were built for the host. Makes no context.
int visible_gpus();

/// Fills in what is known of GPU `device`: name, id, memory, compute capability, memory domain, access to the others.
void describe_gpu(int device, RankDevice &rank);

/// Kernels and LibTorch use this GPU from now on. Before the runtime starts.
void bind_gpu(int device);

/// The GPU that was bound; -1: none.
int bound_gpu();

/// GPUs on which this process has a context, for tests.
std::vector<int> gpus_with_context();

}  // namespace dptrain::kernels
