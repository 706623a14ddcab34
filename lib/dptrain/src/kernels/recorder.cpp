#include "kernels/recorder.h"

#include <string>

#include "dptrain/base/error.h"
#include "kernels/kokkos_types.h"

namespace dptrain::kernels::recorder {

#ifdef KOKKOS_ENABLE_CUDA

bool available()
{
  return true;
}

// Relaxed: other threads of the process may go on with theirs.
bool begin()
{
  const bool begun = cudaStreamBeginCapture(ExecutionSpace().cuda_stream(),
                                            cudaStreamCaptureModeRelaxed) == cudaSuccess;
  if (!begun) cudaGetLastError();  // it is known
  return begun;
}

std::shared_ptr<void> end()
{
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(ExecutionSpace().cuda_stream(), &graph);
  cudaGraphExec_t executable = nullptr;
  const bool made = ended == cudaSuccess && graph != nullptr &&
                    cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess;
  if (graph) cudaGraphDestroy(graph);
  if (!made) {
    cudaGetLastError();  // it is known
    return nullptr;
  }
  return {executable, [](void *one) {
            if (Kokkos::is_initialized()) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(one));
          }};
}

void launch(const std::shared_ptr<void> &recorded)
{
  const cudaError_t status =
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(recorded.get()), ExecutionSpace().cuda_stream());
  if (status != cudaSuccess)
    throw Error(
        std::string("CUDA: a graph of kernels cannot be launched: ") + cudaGetErrorString(status) +
        "; check the driver and the GPU with nvidia-smi, and whether DPTRAIN_GRAPHS=0 in the "
        "environment helps");
}

#else

bool available()
{
  return false;
}
bool begin()
{
  return false;
}
std::shared_ptr<void> end()
{
  return nullptr;
}
void launch(const std::shared_ptr<void> &) {}

#endif

}  // namespace dptrain::kernels::recorder
