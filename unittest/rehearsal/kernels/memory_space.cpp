#include <cstring>
#include <memory>

#include "kernels/memory_space.h"
#include "rehearsal/device_memory.h"
#include "rehearsal/stream.h"

namespace dptrain::kernels::memory_space {

void *allocate(std::size_t bytes)
{
  void *block = rehearsal::allocate(bytes);
  if (block) rehearsal::enqueue_now([block, bytes] { rehearsal::fill(block, bytes); });
  return block;
}

void release(void *block, std::size_t bytes)
{
  rehearsal::release(block, bytes);
  rehearsal::enqueue_now([block, bytes] { rehearsal::forget(block, bytes); });
}

void copy_in(void *target, const void *host, std::size_t bytes)
{
  std::shared_ptr<char> taken(new char[bytes], std::default_delete<char[]>());
  std::memcpy(taken.get(), host, bytes);
  rehearsal::check_block(target, bytes);
  rehearsal::enqueue([target, taken, bytes] { std::memcpy(target, taken.get(), bytes); });
}

void copy_out(void *host, const void *source, std::size_t bytes)
{
  rehearsal::check_block(source, bytes);
  rehearsal::enqueue([host, source, bytes] { std::memcpy(host, source, bytes); });
  rehearsal::wait();
}

void clear(void *target, std::size_t bytes)
{
  rehearsal::check_block(target, bytes);
  rehearsal::enqueue([target, bytes] { std::memset(target, 0, bytes); });
}

void check_pointers(const void *pointers, std::size_t bytes)
{
  rehearsal::check_pointers("an array of pointers", pointers, bytes);
}

}  // namespace dptrain::kernels::memory_space
