#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dptrain::rehearsal {

/// The memory of a rehearsed device: one range of addresses that nobody can read or write but kernels and copies, while an
/// `Access` lives. Any other access is a segmentation fault at its place, and a line on stderr says to which block. New
/// memory is full of NaN. Addresses of freed memory are not used again soon, so that a pointer into it is known as one. With
/// the address sanitizer the ends of all blocks are guarded too.

/// Null where the range is full. What has to be done to the memory itself is left to `fill` and `forget`, in the stream.
void *allocate(std::size_t bytes);
/// From now on its memory is freed memory, though kernels before this may still use it. Throws Error if it is no block.
void release(void *block, std::size_t bytes);
/// Fills the memory of a new block with NaN.
void fill(void *block, std::size_t bytes);
/// Gives the memory of a released block back.
void forget(void *block, std::size_t bytes);

/// Throws Error where so many bytes from there on are not all of one block.
void check_block(const void *place, std::size_t bytes);

/// What an address belongs to: a block of the device (its end included), device memory that is no block or no longer one,
/// memory of the host, or nothing.
enum class Place { device, freed, host, nowhere };
Place place_of(std::uintptr_t address);
/// Host memory in words, for messages: the stack, the heap, or the file that is mapped there.
std::string host_memory_name(std::uintptr_t address);

/// While it lives, device memory can be read and written. Can be nested.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access &) = delete;
  Access &operator=(const Access &) = delete;
};

}  // namespace dptrain::rehearsal
