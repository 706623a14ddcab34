#pragma once

#include <memory>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// A Communicator whose sums and gathers of long arrays of doubles go over NCCL, from GPU to GPU, each rank with a GPU of
/// its own; everything else goes the way of `mpi`, which also tells the ranks of each other at the start. The one given
/// where the library was built without NCCL, kernels run on processors, or ranks share a GPU. Collective.
///
/// Operations have a stream of their own, and begin when all ranks have come, which is agreed on over `mpi`. A rank that waits
/// longer than `communication_timeout` after that, or sees that NCCL or CUDA has failed, ends the job with a message that
/// names rank and operation.
std::shared_ptr<const Communicator> over_nccl(std::shared_ptr<const Communicator> mpi);

}  // namespace dptrain
