#include "kernels/memory_space.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "kernels/kokkos_types.h"

namespace dptrain::kernels::memory_space {
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

using Host = Kokkos::View<char *, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using Local = Kokkos::View<char *, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

}  // namespace

void *allocate(std::size_t bytes)
{
  if constexpr (on_device) {
    return Kokkos::kokkos_malloc<MemorySpace>("dptrain", bytes);
  } else {
    void *block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!block || leaves_headroom()) return block;
    std::free(block);
    return nullptr;
  }
}

void release(void *block, std::size_t)
{
  if constexpr (on_device) {
    if (Kokkos::is_initialized()) Kokkos::kokkos_free<MemorySpace>(block);
  } else {
    std::free(block);
  }
}

void copy_in(void *target, const void *host, std::size_t bytes)
{
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
  if constexpr (on_device)
    Kokkos::deep_copy(ExecutionSpace(), Local(static_cast<char *>(target), bytes), char(0));
  else
    std::memset(target, 0, bytes);
}

void check_pointers(const void *, std::size_t) {}

}  // namespace dptrain::kernels::memory_space
