#pragma once

#include <Kokkos_Core.hpp>

// Rules that keep Kokkos free of cost on the CPU: inner loops over channels are `omp simd` loops on the host, lambdas given
// to them are always inlined, and reductions run on scalars.
#define DPTRAIN_ALWAYS_INLINE __attribute__((always_inline))

namespace dptrain::kernels {

using ExecutionSpace = Kokkos::Serial;
using TeamPolicy = Kokkos::TeamPolicy<ExecutionSpace>;
using Team = TeamPolicy::member_type;
using RangePolicy = Kokkos::RangePolicy<ExecutionSpace>;

/// One team per centre atom; on the host a team is one thread.
inline TeamPolicy one_team_each(int centers)
{
  return TeamPolicy(centers, 1);
}

/// f(j) for j in [0, n): the vector loop inside a team.
template <class F>
KOKKOS_FORCEINLINE_FUNCTION void vector_for([[maybe_unused]] const Team &team, int n, const F &f)
{
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n), f);
#else
  _Pragma("omp simd") for (int j = 0; j < n; ++j) f(j);
#endif
}

/// Five sums at once over the vector loop: f(j, s0, s1, s2, s3, s4) adds to its arguments.
template <class F> KOKKOS_FORCEINLINE_FUNCTION void vector_sum(int n, const F &f, double (&sum)[5])
{
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0;
  _Pragma("omp simd reduction(+ : s0, s1, s2, s3, s4)") for (int j = 0; j < n; ++j)
      f(j, s0, s1, s2, s3, s4);
  sum[0] = s0;
  sum[1] = s1;
  sum[2] = s2;
  sum[3] = s3;
  sum[4] = s4;
}

}  // namespace dptrain::kernels
