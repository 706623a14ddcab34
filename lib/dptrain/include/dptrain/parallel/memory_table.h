#pragma once

#include <cstdint>
#include <string>

#include "dptrain/base/memory_ledger.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// What the system and LibTorch know: memory of the process now and at most, memory that kernels hold and held at most,
/// and, on a GPU, what LibTorch has reserved and what of it is in use.
MemoryLedger process_ledger();

/// A warning where memory has run out more often than `warned` times, over all ranks; else empty. `warned` becomes the number.
/// Collective.
std::string shortage_warning(const Communicator &comm, const MemoryShortages &own,
                             std::int64_t &warned);

/// A table of the purposes with the smallest, the mean and the largest of all ranks, in MiB, and a line that says what
/// to change where less than a tenth of the node's memory (or the GPU's) is left. All ranks have the same purposes in the same order.
/// Collective; the text is complete on rank 0.
std::string memory_table(const Communicator &comm, const MemoryLedger &ledger);

}  // namespace dptrain
