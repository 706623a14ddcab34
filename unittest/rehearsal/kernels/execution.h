#pragma once

#include "rehearsal/launch.h"

// In place of the library's file of this name.

#define DPTRAIN_DEVICE_PASS 1
#define DPTRAIN_VECTOR_LANES 0

namespace dptrain::kernels {

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;
using rehearsal::RangePolicy;
using rehearsal::TeamPolicy;
constexpr bool on_device = true;
using rehearsal::atomic_add;
using rehearsal::atomic_fetch_add;
using rehearsal::atomic_max;
using rehearsal::atomic_min;

}  // namespace dptrain::kernels
