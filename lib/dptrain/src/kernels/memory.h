#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace dptrain::kernels {

/// What a performance guard counts: memory blocks taken and given back (but those of BesideSequences), kernels launched, matrix
/// products and graphs of both, commands that a graph may have (graph.h), tables filled, copies between the host and the memory of
/// the kernels, and their bytes.
struct Counters {
  std::int64_t allocations = 0, releases = 0, launches = 0, products = 0, graphs = 0, commands = 0,
               table_builds = 0, copies = 0, copied = 0;
};
/// The counters of this process; whoever wants a difference takes it.
Counters &counters();

/// Memory of the space in which kernels run (the host's, or a GPU's), aligned for vectors. Throws OutOfMemory when there
/// is none.
void *allocate(std::size_t bytes);
void release(void *block, std::size_t bytes);
/// Memory that is taken or given back while one of these lives is used by no sequence of commands (graph.h): those that were recorded
/// stay as they are.
class BesideSequences {
 public:
  BesideSequences();
  ~BesideSequences();
  BesideSequences(const BesideSequences &) = delete;
  BesideSequences &operator=(const BesideSequences &) = delete;
};
/// Bytes that kernels hold now, and the most that they have held.
struct MemoryInUse {
  std::size_t now = 0, peak = 0;
};
MemoryInUse memory_in_use();
/// Called before each allocation with its size; for tests, which throw what an allocator throws. Empty: nothing is called.
void set_allocation_hook(std::function<void(std::size_t)> hook);
/// Bytes for kernels: of the GPU, or of the node as far as this process may use it; all and free ones.
struct MemoryForKernels {
  std::size_t total = 0, free = 0;
};
MemoryForKernels memory_for_kernels();
/// Copies between host memory and the memory of the kernels, and clears the latter.
void copy_in(void *target, const void *host, std::size_t bytes);
void copy_out(void *host, const void *source, std::size_t bytes);
void clear(void *target, std::size_t bytes);
/// In a rehearsal (doc/developer/gpu.md): throws Error where kernels could not follow one of these pointers.
void check_pointers(const void *pointers, std::size_t bytes);
/// True where kernels cannot read host memory.
bool separate_memory();
/// The device that kernels run on, and the stream (cudaStream_t) in which they and all copies above are ordered; a host
/// has -1 and null. Work of others on the same arrays belongs in this stream.
int device_index();
void *device_stream();

/// An array in the memory of the kernels. Grows and never shrinks; growing forgets the content.
template <class T> class Array {
 public:
  Array() = default;
  ~Array() { clear(); }
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  Array(Array &&other) noexcept { swap(other); }
  Array &operator=(Array &&other) noexcept
  {
    swap(other);
    return *this;
  }
  void swap(Array &other) noexcept
  {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  T *data() { return data_; }
  const T *data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t memory_bytes() const { return capacity_ * sizeof(T); }

  /// New size; the content is undefined when the array had to grow. Grows by a half more, so that sizes that wander
  /// take no memory in the steady state.
  T *resize(std::size_t size)
  {
    if (size > capacity_) {
      const std::size_t capacity = capacity_ == 0 ? size : std::max(size, size + size / 2);
      clear();
      data_ = static_cast<T *>(kernels::allocate(capacity * sizeof(T)));
      capacity_ = capacity;
    }
    size_ = size;
    return data_;
  }
  /// Gives the memory back.
  void clear()
  {
    kernels::release(data_, capacity_ * sizeof(T));
    data_ = nullptr;
    size_ = capacity_ = 0;
  }
  T *resize_clear(std::size_t size)
  {
    resize(size);
    kernels::clear(data_, size * sizeof(T));
    return data_;
  }
  void copy_from(const T *host, std::size_t size)
  {
    if constexpr (std::is_pointer_v<T>) kernels::check_pointers(host, size * sizeof(T));
    resize(size);
    kernels::copy_in(data_, host, size * sizeof(T));
  }
  void copy_from(const std::vector<T> &host) { copy_from(host.data(), host.size()); }
  void copy_to(T *host) const { kernels::copy_out(host, data_, size_ * sizeof(T)); }
  std::vector<T> to_host() const
  {
    std::vector<T> host(size_);
    copy_to(host.data());
    return host;
  }

 private:
  T *data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

/// An array of the host in the memory of the kernels, which only read it. It is copied where it is not what it was.
template <class T> class Mirror {
 public:
  const T *set(const T *host, std::size_t size)
  {
    if (size != host_.size() || !std::equal(host_.begin(), host_.end(), host)) {
      host_.clear();  // what is there if the copy fails
      array_.copy_from(host, size);
      host_.assign(host, host + size);
    }
    return array_.data();
  }
  const T *set(const std::vector<T> &host) { return set(host.data(), host.size()); }
  const T *data() const { return array_.data(); }
  std::size_t memory_bytes() const { return array_.memory_bytes() + host_.capacity() * sizeof(T); }

 private:
  std::vector<T> host_;
  Array<T> array_;
};

}  // namespace dptrain::kernels
