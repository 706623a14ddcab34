#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dptrain {

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
/// How often memory has run out and what was done about it.
struct MemoryShortages {
  std::int64_t number = 0;
  std::string latest;  ///< what was said
  int chunk = 0;       ///< centers handled at once since then
};

}  // namespace dptrain
