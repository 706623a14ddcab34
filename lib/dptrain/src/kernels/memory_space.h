#pragma once

#include <cstddef>

namespace dptrain::kernels::memory_space {

/// The memory that kernels use: the host's or that of Kokkos' device. See memory.h, which counts and checks.

/// Null where there is none, or what Kokkos throws.
void *allocate(std::size_t bytes);
void release(void *block, std::size_t bytes);
/// `host` may be used again at once. In order with kernels; does not wait for them.
void copy_in(void *target, const void *host, std::size_t bytes);
/// Waits for all kernels before it.
void copy_out(void *host, const void *source, std::size_t bytes);
void clear(void *target, std::size_t bytes);
void check_pointers(const void *pointers, std::size_t bytes);

}  // namespace dptrain::kernels::memory_space
