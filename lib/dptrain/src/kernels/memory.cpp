#include "kernels/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/process_memory.h"
#include "dptrain/error.h"
#include "kernels/kokkos_types.h"

namespace dptrain::kernels {

namespace {

constexpr std::size_t alignment = 64;
// For others (OpenMP, HDF5, MPI, LibTorch) that need a little memory too, and not all survive without: what an allocation
// must leave.
constexpr std::size_t headroom = std::size_t(32) << 20;

bool leaves_headroom()
{
  // address space alone, which is never touched: scarce where the job has a limit, or the system promises no more than it has
  void *trial = mmap(nullptr, headroom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (trial == MAP_FAILED) return false;
  munmap(trial, headroom);
  return true;
}

[[noreturn]] void fail(std::size_t bytes, std::size_t held)
{
  constexpr double mib = 1048576.0;
  std::ostringstream text;
  text.precision(3);
  text << "Out of memory: " << static_cast<double>(bytes) / mib << " MiB more were needed beside "
       << static_cast<double>(held) / mib << " MiB that kernels hold";
  throw OutOfMemory(text.str());
}

using Host = Kokkos::View<char *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using Local = Kokkos::View<char *, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

MemoryInUse in_use;
std::function<void(std::size_t)> hook;

}  // namespace

Counters &counters()
{
  static Counters all;
  return all;
}

void *allocate(std::size_t bytes)
{
  if (bytes == 0) return nullptr;
  ++counters().allocations;
  if (hook) hook(bytes);
  void *block = nullptr;
  if constexpr (on_device) {
    block = Kokkos::kokkos_malloc<MemorySpace>("dptrain", bytes);
  } else {
    block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (block && !leaves_headroom()) {
      std::free(block);
      block = nullptr;
    }
  }
  if (!block) fail(bytes, in_use.now);
  in_use.now += bytes;
  in_use.peak = std::max(in_use.peak, in_use.now);
  return block;
}

void release(void *block, std::size_t bytes)
{
  if (!block) return;
  in_use.now -= bytes;
  if constexpr (on_device) {
    if (Kokkos::is_initialized()) Kokkos::kokkos_free<MemorySpace>(block);
  } else {
    std::free(block);
  }
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
  if constexpr (on_device) {
    // In the stream of the kernels, without waiting for them: CUDA has taken pageable host memory when this returns.
    // The view of the source is not written to.
    auto *source = static_cast<char *>(const_cast<void *>(host));
    Kokkos::deep_copy(ExecutionSpace(), Local(static_cast<char *>(target), bytes),
                      Host(source, bytes));
  } else {
    std::memcpy(target, host, bytes);
  }
}

void copy_out(void *host, const void *source, std::size_t bytes)
{
  if (bytes == 0) return;
  if constexpr (on_device) {
    // behind the kernels in their stream, and the only wait
    const ExecutionSpace space;
    auto *local = static_cast<char *>(const_cast<void *>(source));
    Kokkos::deep_copy(space, Host(static_cast<char *>(host), bytes), Local(local, bytes));
    space.fence();
  } else {
    std::memcpy(host, source, bytes);
  }
}

void clear(void *target, std::size_t bytes)
{
  if (bytes == 0) return;
  if constexpr (on_device)
    Kokkos::deep_copy(ExecutionSpace(), Local(static_cast<char *>(target), bytes), char(0));
  else
    std::memset(target, 0, bytes);
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
