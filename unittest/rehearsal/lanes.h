#pragma once

#include <cstddef>
#include <cstdint>

namespace dptrain::rehearsal {

/// The threads of a rehearsed device: lanes, each a fiber with a stack of its own. A lane runs until it has to wait for
/// others; which one goes on is drawn from a fixed sequence, another order at each meeting. So the same run gives the same
/// bits, and a kernel whose lanes rely on an order that nothing promises gives wrong numbers. To the thread sanitizer each
/// lane is a thread, and only barriers order what lanes do: it reports a missing barrier or atomic operation even where the
/// numbers happen to be right.

/// Threads of a team and lanes of each thread. A device has 4 x 32; the default is smaller and as good at finding
/// faults. DPTRAIN_REHEARSAL_TEAM=4x32 chooses others.
struct TeamShape {
  int threads = 2, lanes = 4;
  int size() const { return threads * lanes; }
};
TeamShape team_shape();

/// Where the lanes of a team, or those of one of its threads, meet. Opaque.
struct Meeting;

/// What a lane knows of its place in the launch.
struct LaneOfTeam {
  int league_rank = 0;
  int thread = 0, lane = 0;  ///< of the team; of the thread
  TeamShape shape;
  char *scratch = nullptr;
  std::size_t scratch_bytes = 0;
  Meeting *team_meeting = nullptr, *thread_meeting = nullptr;
};

/// body(data, lane) once for each lane of each team of the league, several teams at a time. All teams begin with scratch
/// memory full of NaN. Throws Error, with the kernel's name, where some lanes of a team wait for others that never come.
using LaneBody = void (*)(const void *data, const LaneOfTeam &lane);
void run_league(const char *name, int league, std::size_t scratch, LaneBody body, const void *data);

/// body(data, begin, end, step) on several lanes that share no order, for indices of [0, n).
using RangeBody = void (*)(const void *data, long begin, long end, long step);
void run_range(const char *name, long n, RangeBody body, const void *data);

/// Waits for all lanes of the team. Orders what was written before it and what is read after it.
void barrier(const LaneOfTeam &lane);

/// Gives 8 bytes to the other lanes of the team or of the thread, and takes theirs: all[k] is what lane k gave. Orders
/// nothing else in memory: Kokkos promises no more of its reductions.
void exchange_in_team(const LaneOfTeam &lane, std::uint64_t mine, std::uint64_t *all);
void exchange_in_thread(const LaneOfTeam &lane, std::uint64_t mine, std::uint64_t *all);

}  // namespace dptrain::rehearsal
