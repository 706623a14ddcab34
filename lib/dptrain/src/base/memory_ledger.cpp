#include "dptrain/base/memory_ledger.h"

#include <algorithm>

namespace dptrain {

std::size_t total_bytes(const MemoryLedger &ledger)
{
  std::size_t bytes = 0;
  for (const MemoryUse &use : ledger) bytes += use.bytes;
  return bytes;
}

void add_uses(MemoryLedger &ledger, const MemoryLedger &more)
{
  for (const MemoryUse &use : more) {
    const auto place = std::find_if(ledger.begin(), ledger.end(), [&](const MemoryUse &known) {
      return known.purpose == use.purpose;
    });
    if (place == ledger.end())
      ledger.push_back(use);
    else
      place->bytes += use.bytes;
  }
}

}  // namespace dptrain
