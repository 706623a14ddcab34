#pragma once

#ifdef DPTRAIN_REHEARSAL
#include "rehearsal/stream.h"
#endif

namespace dptrain::kernels {

/// Calls work(), which uses arrays of the kernels through another library, in order with kernels and copies: that library
/// works in `device_stream()`. A rehearsal does it when it does the kernels before it.
template <class Work> void in_stream([[maybe_unused]] const char *name, const Work &work)
{
#ifdef DPTRAIN_REHEARSAL
  rehearsal::check_captures(name, work);
  rehearsal::enqueue(work);
#else
  work();
#endif
}

}  // namespace dptrain::kernels
