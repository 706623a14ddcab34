#include "kernels/gpus.h"

#include <fmt/format.h>
#include <fstream>

#include "base/process_memory.h"
#include "dptrain/base/error.h"
#include "kernels/kokkos_types.h"

#ifdef KOKKOS_ENABLE_CUDA
#include <cuda.h>
#include <cuda_runtime.h>
#endif

namespace dptrain::kernels {

namespace {

int bound = -1;

#ifdef KOKKOS_ENABLE_CUDA
void check(cudaError_t status, const char *what)
{
  if (status != cudaSuccess)
    throw Error(fmt::format("CUDA: {}: {}; check the driver and the GPU with nvidia-smi", what,
                            cudaGetErrorString(status)));
}

// The memory domain that the system names for a PCI device; -1: it names none.
int numa_of(const cudaDeviceProp &gpu)
{
  char path[64];
  std::snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.0/numa_node",
                gpu.pciDomainID, gpu.pciBusID, gpu.pciDeviceID);
  int node = -1;
  std::ifstream(path) >> node;
  return node;
}
#endif

}  // namespace

#ifdef KOKKOS_ENABLE_CUDA

int visible_gpus()
{
  int number = 0;
  const cudaError_t status = cudaGetDeviceCount(&number);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) return 0;
  check(status, "the GPUs cannot be counted");
  return number;
}

Gpu describe_gpu(int device)
{
  Gpu found;
  cudaDeviceProp gpu;
  check(cudaGetDeviceProperties(&gpu, device), "a GPU cannot be described");
  found.name = gpu.name;
  found.id.assign(gpu.uuid.bytes, sizeof(gpu.uuid.bytes));
  found.memory = static_cast<std::int64_t>(gpu.totalGlobalMem);
  found.major = gpu.major;
  found.minor = gpu.minor;
  found.numa = numa_of(gpu);
  for (int other = 0; other < visible_gpus(); ++other) {
    int reaches = 1;
    if (other != device) cudaDeviceCanAccessPeer(&reaches, device, other);
    found.peers = found.peers && reaches != 0;
  }
  return found;
}

int running_gpu()
{
  return Kokkos::is_initialized() ? Kokkos::device_id() : -1;
}

void bind_gpu(int device)
{
  check(cudaSetDevice(device), "a GPU cannot be used");
  bound = device;
}

std::vector<int> gpus_with_context()
{
  std::vector<int> found;
  for (int device = 0; device < visible_gpus(); ++device) {
    unsigned int flags = 0;
    int active = 0;
    if (cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active != 0)
      found.push_back(device);
  }
  return found;
}

#else

int visible_gpus()
{
  return 0;
}
Gpu describe_gpu(int /*device*/)
{
  return {};
}
int running_gpu()
{
  return -1;
}
void bind_gpu(int)
{
  throw Error("the kernels of this build run on the host: build with DPTRAIN_CUDA for GPUs");
}
std::vector<int> gpus_with_context()
{
  return {};
}

#endif

int bound_gpu()
{
  return bound;
}

}  // namespace dptrain::kernels
