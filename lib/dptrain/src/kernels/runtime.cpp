#include "kernels/runtime.h"

#include "base/torch_threads.h"
#include "dptrain/error.h"

#include <Kokkos_Core.hpp>

namespace dptrain {

namespace {

/// Starts Kokkos when constructed and stops it, if it was the one to start it, when the process ends. A function-local
/// static is destroyed in the reverse order of construction, hence after every static object that was made later and
/// may still own device data.
class KokkosSession {
 public:
  KokkosSession() : owner_(!Kokkos::is_initialized())
  {
    if (owner_) Kokkos::initialize();
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
  static const bool threads_set = (set_torch_threads(1), true);
  (void) threads_set;
}

}  // namespace dptrain
