#pragma once

#include <Kokkos_Core.hpp>

#include <type_traits>

// Where kernels run, of Kokkos. Tests put a device that is played on the host in place of this file (doc/developer/gpu.md).

// The branches for a device: with many lanes in a team, and memory of its own.
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define DPTRAIN_DEVICE_PASS 1
#else
#define DPTRAIN_DEVICE_PASS 0
#endif

// Host code with vector lanes (lanes.h).
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
#define DPTRAIN_VECTOR_LANES 0
#else
#define DPTRAIN_VECTOR_LANES 1
#endif

namespace dptrain::kernels {

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;
#ifdef KOKKOS_ENABLE_CUDA
// Functors of up to 4 KiB are arguments of the kernel. Those beyond 512 bytes would go through constant memory, for which each launch
// waits, and which cannot be recorded.
using HowToLaunch = Kokkos::Experimental::WorkItemProperty::HintLightWeight_t;
using TeamPolicy = Kokkos::TeamPolicy<ExecutionSpace, HowToLaunch>;
using RangePolicy = Kokkos::RangePolicy<ExecutionSpace, HowToLaunch>;
#else
using TeamPolicy = Kokkos::TeamPolicy<ExecutionSpace>;
using RangePolicy = Kokkos::RangePolicy<ExecutionSpace>;
#endif
constexpr bool on_device = !std::is_same_v<MemorySpace, Kokkos::HostSpace>;
using Kokkos::atomic_add;
using Kokkos::atomic_fetch_add;
#if DPTRAIN_DEVICE_PASS
using Kokkos::atomic_max;  // for devices alone: Kokkos 3 does not have these two
using Kokkos::atomic_min;
#endif

}  // namespace dptrain::kernels
