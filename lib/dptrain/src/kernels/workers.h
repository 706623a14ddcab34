#pragma once

#include <cstddef>
#include <functional>

namespace dptrain::kernels {

/// Sums that several centers share exist once per worker: each worker adds to a copy of its own, and `sum_copies` adds
/// the copies in order. So there are no atomics on a host, and the same number of workers gives the same bits. On a
/// device there is one copy, and kernels add to it atomically.
struct Copies {
  int number = 1;
  long stride = 0;  ///< numbers from one copy to the next
};

/// Workers of a kernel: the threads of this process on a host, one on a device.
int workers();
/// Another number of workers than there are threads; 0: as many as threads. For tests.
void set_workers(int number);

/// work(begin, end) for blocks of [0, n), on the host's memory with all threads of the process.
void for_blocks(std::size_t n, std::size_t block,
                const std::function<void(std::size_t, std::size_t)> &work);

/// work(k) for k in [0, n), each by whichever thread is free. What one of them throws is thrown here after all are done.
void for_tasks(std::size_t n, const std::function<void(std::size_t)> &work);

/// Adds copies 1, 2, ... of values[n] to the first one, in this order. With one copy nothing is launched.
template <class Real> void sum_copies(Real *values, long n, const Copies &copies);

}  // namespace dptrain::kernels
