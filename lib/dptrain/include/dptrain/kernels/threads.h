#pragma once

namespace dptrain {

/// Starts kernels and matrix products of this process with this many threads (see `thread_share`); to be called before
/// the first model is made: later calls change nothing. Returns the number that is in use: one where kernels were built
/// without threads or run on a GPU. Without a call it is OMP_NUM_THREADS, or one.
int use_threads(int threads);

/// Whether kernels run on a GPU. Neighbors are then found from positions: what an engine's lists leave out has no effect.
bool runs_on_gpu();

}  // namespace dptrain
