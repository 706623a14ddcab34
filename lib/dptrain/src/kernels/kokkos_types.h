#pragma once

#include <Kokkos_Core.hpp>

#include "kernels/memory.h"

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define DPTRAIN_DEVICE_PASS 1
#else
#define DPTRAIN_DEVICE_PASS 0
#endif

// Rules that keep Kokkos free of cost on the CPU: inner loops are `omp simd` loops on the host, lambdas given to them are
// always inlined, reductions run on scalars, and what stays the same in a loop over channels is loaded before it.
#define DPTRAIN_ALWAYS_INLINE __attribute__((always_inline))

namespace dptrain::kernels {

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;
using TeamPolicy = Kokkos::TeamPolicy<ExecutionSpace>;
using Team = TeamPolicy::member_type;
using RangePolicy = Kokkos::RangePolicy<ExecutionSpace>;

constexpr bool on_device = !std::is_same_v<MemorySpace, Kokkos::HostSpace>;

/// One team per centre atom or row; on the host a team is one thread, on a device 4 x 32 lanes. Every team gets
/// `scratch` bytes of fast memory.
inline TeamPolicy one_team_each(int n, std::size_t scratch = 0)
{
  TeamPolicy policy(n, on_device ? 4 : 1, on_device ? 32 : 1);
  // what does not fit into the shared memory of a multiprocessor goes to the second level
  if (scratch > 0)
    policy.set_scratch_size(scratch > 32768 && on_device ? 1 : 0, Kokkos::PerTeam(scratch));
  return policy;
}

/// The memory of this team, aligned for vectors.
KOKKOS_FORCEINLINE_FUNCTION char *team_scratch(const Team &team, std::size_t scratch)
{
  return static_cast<char *>(
      team.team_scratch(scratch > 32768 && on_device ? 1 : 0).get_shmem_aligned(scratch - 64, 64));
}

/// f(j) for j in [0, n) by all lanes of the team; complete when it returns.
template <class F> KOKKOS_FORCEINLINE_FUNCTION void team_for(const Team &team, int n, const F &f)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n), f);
  team.team_barrier();
#else
  (void) team;
  _Pragma("omp simd") for (int j = 0; j < n; ++j) f(j);
#endif
}

/// A number of channels that the compiler knows (W > 0), so that loops over it are unrolled, or not (0).
template <int W> struct Width {
  static constexpr int known = W;
  int value;
  KOKKOS_FORCEINLINE_FUNCTION constexpr operator int() const { return W > 0 ? W : value; }
};

/// Accumulates over the edges of a team: for all channels m and edges e, add(load(e), m, t0, t1, t2, t3), where t0..t3 are
/// t[0..3][width] at m, set to zero first. `load` returns by value what does not depend on the channel. On the host edges
/// run outside and channels are vectors; on a device each lane keeps the sums of its channels in registers.
template <class Real, int W, class Load, class Add>
KOKKOS_FORCEINLINE_FUNCTION void sum_over_edges(const Team &team, int num_edges, Width<W> width,
                                                Real *t, const Load &load, const Add &add)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, int(width)), [&](int m) {
    Real t0 = 0, t1 = 0, t2 = 0, t3 = 0;
    for (int e = 0; e < num_edges; ++e) add(load(e), m, t0, t1, t2, t3);
    t[m] = t0;
    t[width + m] = t1;
    t[2 * width + m] = t2;
    t[3 * width + m] = t3;
  });
  team.team_barrier();
#else
  (void) team;
  Real *t0 = t, *t1 = t + width, *t2 = t1 + width, *t3 = t2 + width;
  _Pragma("omp simd") for (int m = 0; m < 4 * width; ++m) t[m] = 0;
  for (int e = 0; e < num_edges; ++e) {
    const auto edge = load(e);
    _Pragma("omp simd") for (int m = 0; m < width; ++m) add(edge, m, t0[m], t1[m], t2[m], t3[m]);
  }
#endif
}

/// Four sums over the channels for each edge: add(load(e), m, s0..s3) for all m, then store(e, s0..s3).
template <class Real, int W, class Load, class Add, class Store>
KOKKOS_FORCEINLINE_FUNCTION void sum_over_channels(const Team &team, int num_edges, Width<W> width,
                                                   const Load &load, const Add &add,
                                                   const Store &store)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, num_edges), [&](int e) {
    const auto edge = load(e);
    Real s[4];
    // one reduction each: arrays as reduction values differ between the versions of Kokkos
    for (int k = 0; k < 4; ++k)
      Kokkos::parallel_reduce(
          Kokkos::ThreadVectorRange(team, int(width)),
          [&](int m, Real &sum) {
            Real part[4] = {0, 0, 0, 0};
            add(edge, m, part[0], part[1], part[2], part[3]);
            sum += part[k];
          },
          s[k]);
    Kokkos::single(Kokkos::PerThread(team), [&]() { store(e, s[0], s[1], s[2], s[3]); });
  });
  team.team_barrier();
#else
  (void) team;
  for (int e = 0; e < num_edges; ++e) {
    const auto edge = load(e);
    Real s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    _Pragma("omp simd reduction(+ : s0, s1, s2, s3)") for (int m = 0; m < width; ++m)
        add(edge, m, s0, s1, s2, s3);
    store(e, s0, s1, s2, s3);
  }
#endif
}

/// target += value: atomic on a device, where all teams share the target (see workers.h for the host).
template <class Target, class Value>
KOKKOS_FORCEINLINE_FUNCTION void add_shared(Target *target, Value value)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::atomic_add(target, static_cast<Target>(value));
#else
  *target += static_cast<Target>(value);
#endif
}

/// Launches a kernel over teams or an index range, and counts it.
template <class Policy, class F> void launch(const char *name, const Policy &policy, const F &f)
{
  ++counters().launches;
  Kokkos::parallel_for(name, policy, f);
}

/// The functor of launch_shared: on the host one team is one worker.
template <class F> struct SharedLoop {
  F f;
  int n, teams;
  std::size_t scratch;
  KOKKOS_FUNCTION void operator()(const Team &team) const
  {
    char *memory = scratch > 0 ? team_scratch(team, scratch) : nullptr;
#if DPTRAIN_DEVICE_PASS
    f(team, team.league_rank(), 0, memory);
#else
    const long worker = team.league_rank();
    const int end = static_cast<int>((worker + 1) * n / teams);
    for (int i = static_cast<int>(worker * n / teams); i < end; ++i)
      f(team, i, static_cast<int>(worker), memory);
#endif
  }
};

/// Launches f(team, i, copy, memory) for i in [0, n), where f adds to sums that all i share: to `copy` of them. On the
/// host each copy belongs to one team, which does a range of i that depends on n and the number of copies alone. On a
/// device there is a team for each i and one copy. `memory`: the scratch memory of the team.
template <class F>
void launch_shared(const char *name, int n, int copies, std::size_t scratch, const F &f)
{
  const int teams = on_device ? n : (copies < n ? copies : n);
  launch(name, one_team_each(teams, scratch), SharedLoop<F>{f, n, teams, scratch});
}

}  // namespace dptrain::kernels
