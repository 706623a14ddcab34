#include "kernels/runtime.h"

#include <cstdlib>

#include "base/asked_threads.h"
#include "base/torch_threads.h"
#include "dptrain/base/error.h"
#include "dptrain/kernels/threads.h"
#include "kernels/gpus.h"
#include "kernels/kokkos_types.h"
#include "kernels/workers.h"

namespace dptrain {

namespace {

int wanted_threads = 0;  // 0: not said

int threads_to_start()
{
  if (wanted_threads > 0) return wanted_threads;
  const int asked = asked_threads(std::getenv("OMP_NUM_THREADS"));
  return asked > 0 ? asked : 1;
}

void start_kokkos()
{
#if KOKKOS_VERSION >= 30700
  Kokkos::InitializationSettings settings;
  settings.set_num_threads(threads_to_start());
  if (kernels::bound_gpu() >= 0) settings.set_device_id(kernels::bound_gpu());
  settings.set_disable_warnings(
      true);  // of binding threads to cores, which is the launcher's business
#else
  Kokkos::InitArguments settings;
  settings.num_threads = threads_to_start();
  settings.disable_warnings = true;
#endif
  Kokkos::initialize(settings);
}

/// Starts Kokkos when constructed and stops it, if it was the one to start it, when the process ends. A function-local
/// static is destroyed in the reverse order of construction, hence after every static object that was made later and
/// may still own device data.
class KokkosSession {
 public:
  KokkosSession() : owner_(!Kokkos::is_initialized())
  {
    if (owner_) start_kokkos();
  }
  ~KokkosSession()
  {
    if (owner_ && Kokkos::is_initialized()) Kokkos::finalize();
  }
  KokkosSession(const KokkosSession &) = delete;
  KokkosSession &operator=(const KokkosSession &) = delete;

 private:
  bool owner_;
};

}  // namespace

void ensure_runtime()
{
  static const KokkosSession session;
  if (!Kokkos::is_initialized())
    throw Error("Kokkos has been shut down by the host program while dptrain still needs it: "
                "delete all dptrain objects before Kokkos::finalize");
  static const bool threads_set = (set_torch_threads(kernels::workers()), true);
  (void) threads_set;
}

int use_threads(int threads)
{
  wanted_threads = threads;
  ensure_runtime();
  return kernels::workers();
}

bool runs_on_gpu()
{
  return kernels::on_device;
}

}  // namespace dptrain
