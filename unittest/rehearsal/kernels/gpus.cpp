#include "kernels/gpus.h"

#include <fmt/format.h>

#include "base/process_memory.h"

namespace dptrain::kernels {

namespace {

int bound = -1;

}  // namespace

// One GPU, which is the host.
int visible_gpus()
{
  return 1;
}

Gpu describe_gpu(int device)
{
  Gpu found;
  found.name = "rehearsal on the host";
  found.id = fmt::format("rehearsal{}", device);
  found.memory = static_cast<std::int64_t>(host_memory().total);
  return found;
}

void bind_gpu(int device)
{
  bound = device;
}

int bound_gpu()
{
  return bound;
}

int running_gpu()
{
  return -1;
}

std::vector<int> gpus_with_context()
{
  return bound < 0 ? std::vector<int>() : std::vector<int>{bound};
}

}  // namespace dptrain::kernels
