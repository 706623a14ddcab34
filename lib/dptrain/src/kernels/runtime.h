// The life time of the Kokkos runtime.
#pragma once

namespace dptrain {

/// Makes Kokkos ready for kernels, and gives LibTorch as many threads as kernels have (dptrain/threads.h). Every object
/// that owns device data or launches kernels calls this first; only the first call in a process does anything. Where
/// Kokkos was not running, it is finalised at the end of the process, or when the library is unloaded; one that the host
/// program started is left to it. Throws dptrain::Error when this library has already been shut down.
void ensure_runtime();

}  // namespace dptrain
