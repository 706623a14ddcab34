#include "kernels/memory.h"

#include <algorithm>
#include <sstream>

#include "base/advice.h"
#include "base/process_memory.h"
#include "kernels/graph.h"
#include "kernels/kokkos_types.h"
#include "kernels/memory_space.h"

namespace dptrain::kernels {

namespace {

[[noreturn]] void fail(std::size_t bytes, std::size_t held)
{
  constexpr double mib = 1048576.0;
  std::ostringstream text;
  text.precision(3);
  text << "Out of memory: " << static_cast<double>(bytes) / mib << " MiB more were needed beside "
       << static_cast<double>(held) / mib << " MiB that kernels hold" << memory_advice();
  throw OutOfMemory(text.str());
}

MemoryInUse in_use;
std::function<void(std::size_t)> hook;
int beside_sequences = 0;  // how many of these live

}  // namespace

Counters &counters()
{
  static Counters all;
  return all;
}

void *allocate(std::size_t bytes)
{
  if (bytes == 0) return nullptr;
  if (beside_sequences == 0) ++counters().allocations;
  if (hook) hook(bytes);
  void *block = memory_space::allocate(bytes);
  if (!block) fail(bytes, in_use.now);
  in_use.now += bytes;
  in_use.peak = std::max(in_use.peak, in_use.now);
  return block;
}

void release(void *block, std::size_t bytes)
{
  if (!block) return;
  if (beside_sequences == 0) ++counters().releases;
  in_use.now -= bytes;
  memory_space::release(block, bytes);
}

BesideSequences::BesideSequences()
{
  ++beside_sequences;
}

BesideSequences::~BesideSequences()
{
  --beside_sequences;
}

MemoryInUse memory_in_use()
{
  return in_use;
}

void set_allocation_hook(std::function<void(std::size_t)> function)
{
  hook = std::move(function);
}

MemoryForKernels memory_for_kernels()
{
#ifdef KOKKOS_ENABLE_CUDA
  MemoryForKernels gpu;
  if (cudaMemGetInfo(&gpu.free, &gpu.total) == cudaSuccess) return gpu;
#endif
  const HostMemory host = host_memory();
  return {host.total, host.free};
}

void copy_in(void *target, const void *host, std::size_t bytes)
{
  if (bytes == 0) return;
  ++counters().copies;
  counters().copied += static_cast<std::int64_t>(bytes);
  if (!is_recording()) memory_space::copy_in(target, host, bytes);
}

void copy_out(void *host, const void *source, std::size_t bytes)
{
  if (bytes == 0) return;
  ++counters().copies;
  counters().copied += static_cast<std::int64_t>(bytes);
  if (!is_recording()) memory_space::copy_out(host, source, bytes);
}

void clear(void *target, std::size_t bytes)
{
  if (bytes > 0 && begin_command()) memory_space::clear(target, bytes);
}

void check_pointers(const void *pointers, std::size_t bytes)
{
  memory_space::check_pointers(pointers, bytes);
}

bool separate_memory()
{
  return on_device;
}

int device_index()
{
#ifdef KOKKOS_ENABLE_CUDA
  return ExecutionSpace().cuda_device();
#else
  return -1;
#endif
}

void *device_stream()
{
#ifdef KOKKOS_ENABLE_CUDA
  return ExecutionSpace().cuda_stream();
#else
  return nullptr;
#endif
}

}  // namespace dptrain::kernels
