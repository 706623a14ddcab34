#include "base/torch_memory.h"

#ifdef DPTRAIN_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#endif

namespace dptrain {

#ifdef DPTRAIN_CUDA

namespace allocator = c10::cuda::CUDACachingAllocator;

void release_torch_caches()
{
  if (allocator::get()->initialized()) allocator::emptyCache();
}

MemoryLedger torch_ledger()
{
  c10::CachingDeviceAllocator::DeviceStats stats;
  if (allocator::get()->initialized())
    stats = allocator::getDeviceStats(c10::cuda::current_device());
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  return {{"torch reserved", bytes(stats.reserved_bytes[all].current)},
          {"torch allocated", bytes(stats.allocated_bytes[all].current)},
          {"torch peak", bytes(stats.allocated_bytes[all].peak)},
          {"torch fragments", bytes(stats.inactive_split_bytes[all].current)}};
}

#else

void release_torch_caches() {}

MemoryLedger torch_ledger()
{
  return {};
}

#endif

}  // namespace dptrain
