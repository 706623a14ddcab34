// The Kokkos runtime starts once, kernels run on it, and LibTorch keeps to as many threads.

#include "kernels/runtime.h"
#include "kernels/workers.h"

#include <ATen/Parallel.h>
#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

TEST(Runtime, StartsOnceAndRunsKernels)
{
  dptrain::ensure_runtime();
  dptrain::ensure_runtime();
  ASSERT_TRUE(Kokkos::is_initialized());
  long sum = 0;
  Kokkos::parallel_reduce(
      "sum", 100, KOKKOS_LAMBDA(int i, long &partial) { partial += i; }, sum);
  EXPECT_EQ(sum, 4950);
}

TEST(Runtime, LibTorchHasAsManyThreadsAsKernels)
{
  dptrain::ensure_runtime();
  EXPECT_EQ(at::get_num_threads(), dptrain::kernels::workers());
}
