// Threads of LibTorch.
#pragma once

namespace dptrain {

/// Lets every rank use `threads` threads inside LibTorch operations and one for parallel operations. The default of
/// LibTorch is one thread per core on every rank, which makes several ranks on one machine fight for the cores.
void set_torch_threads(int threads);

}  // namespace dptrain
