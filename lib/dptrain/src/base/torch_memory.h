#pragma once

#include "dptrain/base/memory_ledger.h"

namespace dptrain {

/// Gives the memory that LibTorch keeps for later back to the GPU; nothing without one.
void release_torch_caches();

/// What LibTorch has reserved on the GPU, what of it is in use, the largest of that, and what lies unused in blocks that
/// are partly in use. Empty where the library was built without GPUs.
MemoryLedger torch_ledger();

}  // namespace dptrain
