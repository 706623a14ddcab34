#include "base/memory_shortage.h"

#include <new>
#include <utility>

#include "base/advice.h"
#include "base/text.h"

namespace dptrain {

namespace {

// Lower case. Some libraries have a type of exception for it, but all say it in words, and TorchScript keeps the words only.
const char *const shortages[] = {
    "out of memory",        // CUDA, HIP, c10::OutOfMemoryError, CUDA_ERROR_OUT_OF_MEMORY's text
    "out_of_memory",        // names of error codes
    "outofmemory",          // hipErrorOutOfMemory
    "memoryallocation",     // cudaErrorMemoryAllocation
    "status_alloc_failed",  // CUBLAS_, CUDNN_, CUSOLVER_, CUSPARSE_, HIPBLAS_
    "device_allocation_failed",       // CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED
    "status_insufficient_resources",  // CUSPARSE_
    "rocblas_status_memory_error",
    "miopenstatusallocfailed",
    "failed to cuda malloc",  // NCCL
    "failed to cuda calloc",
    "can't allocate memory",   // LibTorch's allocator on CPUs
    "cannot allocate memory",  // the system
    "failed to allocate",      // Kokkos
    "not enough memory",
    "bad_alloc",
};

std::string with_advice(const std::string &cause)
{
  return cause.find(memory_advice()) == std::string::npos ? cause + memory_advice() : cause;
}

}  // namespace

std::string memory_shortage(const std::exception &error)
{
  if (dynamic_cast<const OutOfMemory *>(&error)) return error.what();
  if (dynamic_cast<const std::bad_alloc *>(&error)) return "the system has no memory left";
  const std::string text = lower(error.what());
  for (const char *words : shortages)
    if (text.find(words) != std::string::npos) return error.what();
  return "";
}

void with_relief(const std::function<void()> &work,
                 const std::function<bool(const std::string &)> &relieve)
{
  while (true) {
    std::string cause;
    try {
      return work();
    } catch (const std::exception &error) {
      cause = memory_shortage(error);
      if (cause.empty()) throw;
    }
    // the exception is gone by now, and what it held
    if (!relieve(cause)) throw OutOfMemory(with_advice(cause));
  }
}

void tried_twice(const std::function<void()> &work, const std::function<void()> &give_back)
{
  bool tried = false;
  with_relief(work, [&](const std::string &) {
    if (!tried) give_back();
    return !std::exchange(tried, true);
  });
}

}  // namespace dptrain
