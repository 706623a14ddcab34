#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dptrain::rehearsal {

/// The stream of a rehearsed device. It is late on purpose: what is put in it is done when somebody waits, and not before,
/// so that a result that is used without waiting is not there yet.

/// Throws Error, with the name, where a pointer among these bytes points into memory of the host or into freed device
/// memory.
void check_pointers(const char *name, const void *bytes, std::size_t size);

/// The same for what a function object has captured.
template <class F> void check_captures(const char *name, F f)
{
  __builtin_clear_padding(&f);
  check_pointers(name, &f, sizeof(F));
}

/// Puts work into the stream, or into what is recorded.
void enqueue(std::function<void()> work);

/// Puts work into the stream in any case.
void enqueue_now(std::function<void()> work);

/// From now on work is recorded, and not put into the stream.
void begin_recording();

/// All that was recorded.
std::vector<std::function<void()>> end_recording();

/// Does all that is in the stream, in order. After an exception the rest is given up, as after an error on a device.
void wait();

}  // namespace dptrain::rehearsal
