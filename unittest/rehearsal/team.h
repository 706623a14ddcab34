#pragma once

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "rehearsal/lanes.h"

// What a kernel sees of the rehearsed device: a team, and Kokkos' nested patterns for it, as Kokkos' own devices have them.
// Like there, the body of a kernel is run by all lanes of a team, patterns over threads by all lanes of a thread, and no
// pattern ends with a barrier.

namespace dptrain::rehearsal {

// Kokkos' atomic operations, in a form that the thread sanitizer knows. They order nothing.

template <class T> T atomic_fetch_add(T *target, T value)
{
  T found, sum;
  __atomic_load(target, &found, __ATOMIC_RELAXED);
  do {
    sum = found + value;
  } while (
      !__atomic_compare_exchange(target, &found, &sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return found;
}
template <class T> void atomic_add(T *target, T value)
{
  atomic_fetch_add(target, value);
}
template <class T> void atomic_min(T *target, T value)
{
  T found;
  __atomic_load(target, &found, __ATOMIC_RELAXED);
  while (value < found && !__atomic_compare_exchange(target, &found, &value, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {}
}
template <class T> void atomic_max(T *target, T value)
{
  T found;
  __atomic_load(target, &found, __ATOMIC_RELAXED);
  while (found < value && !__atomic_compare_exchange(target, &found, &value, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {}
}

/// Scratch memory of a team. Begins where no vector would like it to, as that of a device may.
class Scratch {
 public:
  explicit Scratch(const LaneOfTeam &lane) : lane_(lane) {}
  void *get_shmem_aligned(std::size_t bytes, std::size_t alignment) const
  {
    const auto begin = reinterpret_cast<std::uintptr_t>(lane_.scratch);
    const auto aligned = (begin + 1 + alignment - 1) / alignment * alignment;
    return aligned + bytes > begin + lane_.scratch_bytes ? nullptr
                                                         : reinterpret_cast<void *>(aligned);
  }

 private:
  const LaneOfTeam &lane_;
};

class Team {
 public:
  explicit Team(const LaneOfTeam &lane) : lane_(lane) {}
  int league_rank() const { return lane_.league_rank; }
  int team_rank() const { return lane_.thread; }
  int team_size() const { return lane_.shape.threads; }
  void team_barrier() const { barrier(lane_); }
  Scratch team_scratch(int) const { return Scratch(lane_); }
  const LaneOfTeam &lane() const { return lane_; }
  int rank_of_lane() const { return lane_.thread * lane_.shape.lanes + lane_.lane; }

 private:
  LaneOfTeam lane_;
};

enum class Over { team, threads, thread };
template <Over over> struct Bounds {
  const Team &team;
  int n;
  int first() const
  {
    if (over == Over::team) return team.rank_of_lane();
    return over == Over::threads ? team.team_rank() : team.lane().lane;
  }
  int step() const
  {
    const TeamShape &shape = team.lane().shape;
    if (over == Over::team) return shape.size();
    return over == Over::threads ? shape.threads : shape.lanes;
  }
};

struct SinglePerTeam {
  bool chosen;
};
struct SinglePerThread {
  bool chosen;
};

constexpr int most_lanes = 1024;

/// What each lane of the team or the thread has, joined in the order of the lanes.
template <Over over, class T, class Join> T reduce(const Team &team, T mine, const Join &join)
{
  static_assert(std::is_trivially_copyable_v<T>);
  const int n = over == Over::team ? team.lane().shape.size() : team.lane().shape.lanes;
  std::vector<T> of_lane(n);
  std::uint64_t all[most_lanes];
  for (std::size_t begin = 0; begin < sizeof(T); begin += sizeof(std::uint64_t)) {
    const std::size_t size = std::min(sizeof(T) - begin, sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char *>(&mine) + begin, size);
    if (over == Over::team)
      exchange_in_team(team.lane(), word, all);
    else
      exchange_in_thread(team.lane(), word, all);
    for (int k = 0; k < n; ++k)
      std::memcpy(reinterpret_cast<char *>(&of_lane[k]) + begin, all + k, size);
  }
  for (int k = 1; k < n; ++k) join(of_lane[0], of_lane[k]);
  return of_lane[0];
}

}  // namespace dptrain::rehearsal

namespace Kokkos {

inline auto TeamVectorRange(const dptrain::rehearsal::Team &team, int n)
{
  return dptrain::rehearsal::Bounds<dptrain::rehearsal::Over::team>{team, n};
}
inline auto TeamThreadRange(const dptrain::rehearsal::Team &team, int n)
{
  return dptrain::rehearsal::Bounds<dptrain::rehearsal::Over::threads>{team, n};
}
inline auto ThreadVectorRange(const dptrain::rehearsal::Team &team, int n)
{
  return dptrain::rehearsal::Bounds<dptrain::rehearsal::Over::thread>{team, n};
}
inline auto PerTeam(const dptrain::rehearsal::Team &team)
{
  return dptrain::rehearsal::SinglePerTeam{team.rank_of_lane() == 0};
}
inline auto PerThread(const dptrain::rehearsal::Team &team)
{
  return dptrain::rehearsal::SinglePerThread{team.lane().lane == 0};
}

template <class F> void single(const dptrain::rehearsal::SinglePerTeam &lane, const F &f)
{
  if (lane.chosen) f();
}
template <class F> void single(const dptrain::rehearsal::SinglePerThread &lane, const F &f)
{
  if (lane.chosen) f();
}

template <dptrain::rehearsal::Over over, class F>
void parallel_for(const dptrain::rehearsal::Bounds<over> &bounds, const F &f)
{
  for (int k = bounds.first(); k < bounds.n; k += bounds.step()) f(k);
}

/// Sums over a team or the lanes of a thread. All lanes get the result.
template <dptrain::rehearsal::Over over, class F, class T>
void parallel_reduce(const dptrain::rehearsal::Bounds<over> &bounds, const F &f, T &result)
{
  static_assert(over != dptrain::rehearsal::Over::threads, "not rehearsed");
  T mine = T();
  parallel_for(bounds, [&](int k) { f(k, mine); });
  result = dptrain::rehearsal::reduce<over>(bounds.team, mine, [](T &a, const T &b) { a += b; });
}

/// Smallest values.
template <dptrain::rehearsal::Over over, class F, class T>
void parallel_reduce(const dptrain::rehearsal::Bounds<over> &bounds, const F &f,
                     const Min<T> &reducer)
{
  static_assert(over != dptrain::rehearsal::Over::threads, "not rehearsed");
  T mine;
  reducer.init(mine);
  parallel_for(bounds, [&](int k) { f(k, mine); });
  reducer.reference() = dptrain::rehearsal::reduce<over>(
      bounds.team, mine, [](T &a, const T &b) { a = b < a ? b : a; });
}

/// Prefix sums of integers over the lanes of a thread: f(k, sum before k, false), then f(k, sum before k, true); all lanes get
/// the sum of all.
template <class F>
void parallel_scan(const dptrain::rehearsal::Bounds<dptrain::rehearsal::Over::thread> &bounds,
                   const F &f, int &total)
{
  using dptrain::rehearsal::most_lanes;
  const int lanes = bounds.step(), lane = bounds.first();
  total = 0;
  for (int first = 0; first < bounds.n; first += lanes) {
    const int k = first + lane;
    int mine = 0;
    if (k < bounds.n) f(k, mine, false);
    std::uint64_t all[most_lanes];
    dptrain::rehearsal::exchange_in_thread(bounds.team.lane(), static_cast<std::uint64_t>(mine),
                                           all);
    int sum = total;
    for (int l = 0; l < lane; ++l) sum += static_cast<int>(all[l]);
    for (int l = 0; l < lanes; ++l) total += static_cast<int>(all[l]);
    if (k < bounds.n) f(k, sum, true);
  }
}

}  // namespace Kokkos
