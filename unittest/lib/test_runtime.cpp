// The Kokkos runtime starts once, kernels run on it, and LibTorch keeps to as many threads.

#include "kernels/runtime.h"
#include "kernels/workers.h"

#include <ATen/Parallel.h>
#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

// a function of its own: nvcc takes no kernels from the private body of a test
long sum_below(int n)
{
  long sum = 0;
  Kokkos::parallel_reduce(
      "sum", n, KOKKOS_LAMBDA(int i, long &partial) { partial += i; }, sum);
  return sum;
}

TEST(Runtime, StartsOnceAndRunsKernels)
{
  dptrain::ensure_runtime();
  dptrain::ensure_runtime();
  ASSERT_TRUE(Kokkos::is_initialized());
  EXPECT_EQ(sum_below(100), 4950);
}

TEST(Runtime, LibTorchHasAsManyThreadsAsKernels)
{
  dptrain::ensure_runtime();
  EXPECT_EQ(at::get_num_threads(), dptrain::kernels::workers());
}
