#include "base/torch_threads.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

namespace dptrain {

void set_torch_threads(int threads)
{
  at::set_num_threads(threads);
  try {
    at::set_num_interop_threads(1);
  } catch (const c10::Error &) {
    // LibTorch allows this once per process and only before its first parallel work: a host program that has
    // chosen already keeps its choice
  }
}

}  // namespace dptrain
