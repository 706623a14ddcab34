#include "dptrain/parallel/memory_table.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <vector>

#include "base/process_memory.h"
#include "base/torch_memory.h"
#include "dptrain/base/memory_ledger.h"
#include "dptrain/parallel/broadcast.h"
#include "kernels/memory.h"

namespace dptrain {

namespace {

constexpr double mib = 1024.0 * 1024.0;
constexpr double tight = 0.1;  // of all memory, that is left

// What to do about the largest entry.
std::string advice(const MemoryLedger &ledger)
{
  const auto largest =
      std::max_element(ledger.begin(), ledger.end(),
                       [](const MemoryUse &a, const MemoryUse &b) { return a.bytes < b.bytes; });
  const std::string purpose = largest == ledger.end() ? "" : largest->purpose;
  if (purpose == "frames" || purpose == "neighbor rows" || purpose == "halo")
    return "most of it are frames: use less 'frame_memory', a smaller 'buffer', or more ranks";
  if (purpose == "optimizer")
    return "most of it is the optimizer: use more ranks, which share it, 'optimizer adam' in place "
           "of soap, or precision single";
  if (purpose == "workspace") return "most of it is workspace: use a smaller 'chunk' or 'batch'";
  if (purpose == "residuals")
    return "most of it are forces of the batch: use a smaller 'batch' or 'micro_batch', or more "
           "ranks";
  return "use more ranks, a smaller 'buffer' or precision single";
}

}  // namespace

MemoryLedger process_ledger()
{
  const ProcessMemory process = process_memory();
  const kernels::MemoryInUse kernels = kernels::memory_in_use();
  MemoryLedger ledger{{"kernels now", kernels.now},
                      {"kernels peak", kernels.peak},
                      {"process now", process.resident},
                      {"process peak", process.peak}};
  add_uses(ledger, torch_ledger());
  return ledger;
}

std::string memory_table(const Communicator &comm, const MemoryLedger &ledger)
{
  MemoryLedger rows = ledger;
  rows.push_back({"total", total_bytes(ledger)});
  add_uses(rows, process_ledger());
  const std::size_t n = rows.size();
  std::vector<double> sum(n + 1), most(2 * n);
  for (std::size_t k = 0; k < n; ++k) {
    sum[k] = most[k] = static_cast<double>(rows[k].bytes) / mib;
    most[n + k] = -most[k];
  }
  const kernels::MemoryForKernels there = kernels::memory_for_kernels();
  const bool is_tight = static_cast<double>(there.free) < tight * static_cast<double>(there.total);
  sum[n] = is_tight ? 1.0 : 0.0;
  comm.all_reduce_sum(sum.data(), sum.size());
  comm.all_reduce_max(most.data(), most.size());

  const auto row = [](const char *name, double least, double mean, double largest) {
    char text[128];
    std::snprintf(text, sizeof(text), "%-16s %12.3f %12.3f %12.3f\n", name, least, mean, largest);
    return std::string(text);
  };
  char head[128];
  std::snprintf(head, sizeof(head), "%-16s %12s %12s %12s\n", "memory (MiB)", "min", "avg", "max");
  std::string text = head;
  for (std::size_t k = 0; k < n; ++k)
    text += row(rows[k].purpose.c_str(), -most[n + k], sum[k] / comm.size(), most[k]);
  if (sum[n] > 0.0)
    text += fmt::format("memory is tight on {} ranks: {}\n", static_cast<int>(sum[n]),
                        said_by_one(comm, is_tight ? advice(ledger) : ""));
  return text;
}

std::string shortage_warning(const Communicator &comm, const MemoryShortages &own,
                             std::int64_t &warned)
{
  std::int64_t number = own.number;
  comm.all_reduce_sum(&number, 1);
  if (number <= warned) return "";
  warned = number;
  const std::string text = fmt::format(
      "memory has run out {}; on rank {} the model now works with less memory (chunk: {} atoms): "
      "{}. Use a smaller 'batch' or 'micro_batch', or more ranks, to leave more",
      number == 1 ? "once" : fmt::format("{} times", number), comm.rank(), own.chunk, own.latest);
  return said_by_one(comm, own.number > 0 ? text : "");
}

}  // namespace dptrain
