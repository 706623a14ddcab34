#pragma once

namespace dptrain::kernels {

/// Calls work(), which uses arrays of the kernels through another library, in order with kernels and copies: that library
/// works in `device_stream()`. `name` is for tests (doc/developer/gpu.md, "Rehearsal").
template <class Work> void in_stream(const char * /*name*/, const Work &work)
{
  work();
}

}  // namespace dptrain::kernels
