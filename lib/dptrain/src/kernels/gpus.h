#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::kernels {

/// GPUs that this process sees; 0 where kernels were built for the host. Makes no context.
int visible_gpus();

/// What is known of a GPU.
struct Gpu {
  std::string name, id;      ///< its model, and what no other GPU has
  std::int64_t memory = 0;   ///< bytes
  int major = 0, minor = 0;  ///< compute capability
  int numa = -1;             ///< memory domain; -1: unknown
  bool peers = true;  ///< it reaches the memory of the other GPUs that the process sees directly
};
Gpu describe_gpu(int device);

/// The GPU of a Kokkos that runs already, such as that of the program around this library; -1: none.
int running_gpu();

/// Kernels and LibTorch use this GPU from now on. Before the runtime starts.
void bind_gpu(int device);

/// The GPU that was bound; -1: none.
int bound_gpu();

/// GPUs on which this process has a context, for tests.
std::vector<int> gpus_with_context();

}  // namespace dptrain::kernels
