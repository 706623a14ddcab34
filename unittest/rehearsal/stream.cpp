#include "rehearsal/stream.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <utility>

#include "dptrain/base/error.h"
#include "rehearsal/device_memory.h"

namespace dptrain::rehearsal {
namespace {

std::deque<std::function<void()>> waiting;
std::vector<std::function<void()>> recorded;
bool records = false;

}  // namespace

void check_pointers(const char *name, const void *bytes, std::size_t size)
{
  const char *begin = static_cast<const char *>(bytes);
  for (std::size_t k = 0; k + sizeof(std::uintptr_t) <= size; k += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, begin + k, sizeof(word));
    const Place place = place_of(word);
    if (place != Place::host && place != Place::freed) continue;
    throw Error(fmt::format("rehearsal: {}: byte {} of the {} bytes that it takes along is a "
                            "pointer, which must not be, into {}",
                            name, k, size,
                            place == Place::freed
                                ? "freed device memory"
                                : fmt::format("memory of the host ({})", host_memory_name(word))));
  }
}

void enqueue(std::function<void()> work)
{
  if (records)
    recorded.push_back(std::move(work));
  else
    waiting.push_back(std::move(work));
}

void enqueue_now(std::function<void()> work)
{
  waiting.push_back(std::move(work));
}

void begin_recording()
{
  records = true;
}

std::vector<std::function<void()>> end_recording()
{
  records = false;
  return std::exchange(recorded, {});
}

void wait()
{
  if (waiting.empty()) return;
  // a task may not wait itself, so that the queue is ours
  std::deque<std::function<void()>> tasks;
  tasks.swap(waiting);
  const Access access;
  for (const auto &work : tasks) work();
}

}  // namespace dptrain::rehearsal
