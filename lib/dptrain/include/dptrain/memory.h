#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dptrain/communicator.h"

namespace dptrain {

struct Frame;

/// What some of the memory is for.
struct MemoryUse {
  std::string purpose;
  std::size_t bytes = 0;
};

/// The memory of one rank by purpose.
using MemoryLedger = std::vector<MemoryUse>;

std::size_t total_bytes(const MemoryLedger &ledger);
/// Adds the entries; those of one purpose become one.
void add_uses(MemoryLedger &ledger, const MemoryLedger &more);
/// Adds a stored frame: its own arrays, its neighbour rows, its plan of ghosts.
void add_frame(MemoryLedger &ledger, const Frame &frame);

/// What the system and LibTorch know: memory of the process now and at most, memory that kernels hold and held at most,
/// and, on a GPU, what LibTorch has reserved and what of it is in use.
MemoryLedger process_ledger();

/// How often memory has run out and what was done about it.
struct MemoryShortages {
  std::int64_t number = 0;
  std::string latest;  ///< what was said
  int chunk = 0;       ///< centres handled at once since then
};

/// A warning where memory has run out more often than `told` times, over all ranks; else empty. `told` becomes the number.
/// Collective.
std::string shortage_warning(const Communicator &comm, const MemoryShortages &own,
                             std::int64_t &told);

/// A table of the purposes with the smallest, the mean and the largest of all ranks, in MiB, and a line that says what
/// to change where less than a tenth of the node's memory (or the GPU's) is left. All ranks have the same purposes in the same order.
/// Collective; the text is complete on rank 0.
std::string memory_table(const Communicator &comm, const MemoryLedger &ledger);

}  // namespace dptrain
