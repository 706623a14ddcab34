#pragma once

#include <Kokkos_Core.hpp>

#include <utility>

#include "kernels/execution.h"
#include "kernels/graph.h"
#include "kernels/memory.h"

// Rules that keep Kokkos free of cost on the CPU: inner loops are `omp simd` loops on the host, lambdas given to them are
// always inlined, reductions run on scalars, and what stays the same in a loop over channels is loaded before it.
#define DPTRAIN_ALWAYS_INLINE __attribute__((always_inline))

namespace dptrain::kernels {

using Team = TeamPolicy::member_type;

/// Threads of a team on a device, and vector lanes of each thread.
constexpr int device_threads = 4, device_lanes = 32;

/// The level of a team's fast memory that has room for `scratch` bytes. On a device what does not fit into the shared memory of a
/// multiprocessor goes to the second; a host has 32 kB of the first, some of which Kokkos needs itself.
constexpr std::size_t first_level = on_device ? 32768 : 32000;
KOKKOS_FORCEINLINE_FUNCTION constexpr int scratch_level(std::size_t scratch)
{
  return scratch > first_level ? 1 : 0;
}

/// One team per center atom or row; on the host a team is one thread, on a device 4 x 32 lanes. Every team gets
/// `scratch` bytes of fast memory.
inline TeamPolicy one_team_each(int n, std::size_t scratch = 0)
{
  TeamPolicy policy(n, on_device ? device_threads : 1, on_device ? device_lanes : 1);
  // the memory of the second level is Kokkos', which may put it elsewhere: not for a graph
  if (on_device && scratch_level(scratch) > 0 && is_recording()) ++counters().allocations;
  if (scratch > 0) policy.set_scratch_size(scratch_level(scratch), Kokkos::PerTeam(scratch));
  return policy;
}

/// The memory of this team, aligned for vectors.
KOKKOS_FORCEINLINE_FUNCTION char *team_scratch(const Team &team, std::size_t scratch)
{
  return static_cast<char *>(
      team.team_scratch(scratch_level(scratch)).get_shmem_aligned(scratch - 64, 64));
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

/// The sum of f(j) over j in [0, n), on all lanes of the team.
template <class T, class F>
KOKKOS_FORCEINLINE_FUNCTION T team_sum(const Team &team, int n, const F &f)
{
  T sum = 0;
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_reduce(
      Kokkos::TeamVectorRange(team, n), [&](int j, T &part) { part += f(j); }, sum);
#else
  (void) team;
  _Pragma("omp simd reduction(+ : sum)") for (int j = 0; j < n; ++j) sum += f(j);
#endif
  return sum;
}

/// Several sums as one value of a reduction.
template <class Real, int n> struct Sums {
  Real s[n];
  KOKKOS_FORCEINLINE_FUNCTION Sums()
  {
    for (int k = 0; k < n; ++k) s[k] = 0;
  }
  KOKKOS_FORCEINLINE_FUNCTION Sums &operator+=(const Sums &other)
  {
    for (int k = 0; k < n; ++k) s[k] += other.s[k];
    return *this;
  }
};

/// Rows that one team adds in a kernel that sums columns: on a device several teams share the columns, and add atomically.
constexpr int rows_per_team = on_device ? 32 : 1 << 30;

/// target[m] += sum over i of term(load(i), m), for all m in [0, columns). `load` returns by value what does not depend on m. On
/// the host row by row; on a device each thread has rows of its own, and each of its lanes columns.
template <class T, class Load, class Term>
KOKKOS_FORCEINLINE_FUNCTION void add_rows(const Team &team, int rows, int columns, T *target,
                                          const Load &load, const Term &term)
{
#if DPTRAIN_DEVICE_PASS
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, device_threads), [&](int part) {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, columns), [&](int m) {
      T sum = 0;
      for (int i = part; i < rows; i += device_threads) sum += term(load(i), m);
      atomic_add(target + m, sum);
    });
  });
  team.team_barrier();
#else
  (void) team;
  for (int i = 0; i < rows; ++i) {
    const auto row = load(i);
    _Pragma("omp simd") for (int m = 0; m < columns; ++m) target[m] += term(row, m);
  }
#endif
}

/// put(k, place) for those k of [0, n) for which keep(k), in order, by the lanes of one thread, which all get their number.
/// On the host places up to n may be written.
template <class Keep, class Put>
KOKKOS_FORCEINLINE_FUNCTION int compress(const Team &team, int n, const Keep &keep, const Put &put)
{
#if DPTRAIN_DEVICE_PASS
  int number = 0;
  Kokkos::parallel_scan(
      Kokkos::ThreadVectorRange(team, n),
      [&](int k, int &place, bool final) {
        const bool kept = keep(k);
        if (final && kept) put(k, place);
        place += kept ? 1 : 0;
      },
      number);
  return number;
#else
  (void) team;
  // without a branch, which no processor could predict: what is not kept is written over by the next one
  int place = 0;
  for (int k = 0; k < n; ++k) {
    put(k, place);
    place += keep(k) ? 1 : 0;
  }
  return place;
#endif
}

/// A number that the compiler knows. Not std::integral_constant: what makes an int of that is a function of the host.
template <int k> struct Constant {
  static constexpr int value = k;
  KOKKOS_FORCEINLINE_FUNCTION constexpr operator int() const { return k; }
};

/// f(number) for the numbers below n, which f gets as constants: a loop that the compiler has to unroll.
template <class F, int... k>
KOKKOS_FORCEINLINE_FUNCTION void unrolled(const F &f, std::integer_sequence<int, k...>)
{
  (f(Constant<k>()), ...);
}
template <int n, class F> KOKKOS_FORCEINLINE_FUNCTION void unrolled(const F &f)
{
  unrolled(f, std::make_integer_sequence<int, n>());
}

/// The sum of f(number) for the numbers below n, which f gets as constants.
template <class F, int... k>
KOKKOS_FORCEINLINE_FUNCTION auto sum_of(const F &f, std::integer_sequence<int, k...>)
{
  return (... + f(Constant<k>()));
}
template <int n, class F> KOKKOS_FORCEINLINE_FUNCTION auto sum_of(const F &f)
{
  return sum_of(f, std::make_integer_sequence<int, n>());
}

/// A number of channels that the compiler knows (W > 0), so that loops over it are unrolled, or not (0).
template <int W> struct Width {
  static constexpr int known = W;
  int value;
  KOKKOS_FORCEINLINE_FUNCTION constexpr operator int() const { return W > 0 ? W : value; }
};

/// target += value: atomic on a device, where all teams share the target (see workers.h for the host).
template <class Target, class Value>
KOKKOS_FORCEINLINE_FUNCTION void add_shared(Target *target, Value value)
{
#if DPTRAIN_DEVICE_PASS
  atomic_add(target, static_cast<Target>(value));
#else
  *target += static_cast<Target>(value);
#endif
}

/// The smaller of the two stays in the target, which all teams of a device share (see workers.h for the host).
template <class T> KOKKOS_FORCEINLINE_FUNCTION void take_smaller(T *target, T value)
{
#if DPTRAIN_DEVICE_PASS
  atomic_min(target, value);
#else
  if (value < *target) *target = value;
#endif
}

/// Launches a kernel over teams or an index range, and counts it.
template <class Policy, class F> void launch(const char *name, const Policy &policy, const F &f)
{
  if (!begin_command()) return;
  if (!is_recording()) ++counters().launches;
  Kokkos::parallel_for(name, policy, f);
}

/// f(k) for k in [0, n), n of any size: in vectors on a host.
template <class F> void for_all(const char *name, long n, const F &f)
{
  constexpr long block = on_device ? 512 : 4096;
  launch(
      name, one_team_each(static_cast<int>((n + block - 1) / block)),
      KOKKOS_LAMBDA(const Team &team) {
        const long begin = team.league_rank() * block;
        team_for(team, static_cast<int>(n - begin < block ? n - begin : block),
                 [=](int k) DPTRAIN_ALWAYS_INLINE { f(begin + k); });
      });
}

/// The same where several threads of a host may do this at once: each does what it was given.
template <class F> void for_all_here(const char *name, long n, const F &f)
{
  if constexpr (on_device) {
    for_all(name, n, f);
  } else {
    (void) name;
    const F own = f;  // whose members no other number changes
    _Pragma("omp simd") for (long k = 0; k < n; ++k) own(k);
  }
}

/// Prefix sums of integers: f(i, sum of all before i, final).
template <class F> void launch_scan(const char *name, const RangePolicy &policy, const F &f)
{
  if (!begin_command()) return;
  if (!is_recording()) ++counters().launches;
  Kokkos::parallel_scan(name, policy, f);
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
