#pragma once

#include <Kokkos_Core.hpp>

#include "rehearsal/stream.h"
#include "rehearsal/team.h"

// Launches of kernels on the rehearsed device.

namespace dptrain::rehearsal {

/// A league of teams; the arguments are those of Kokkos' policy. The shape of a team is the rehearsal's own.
class TeamPolicy {
 public:
  using member_type = Team;
  TeamPolicy(int league, int /*threads*/, int /*lanes*/) : league_(league) {}
  TeamPolicy &set_scratch_size(int level, const Kokkos::Impl::PerTeamValue &bytes)
  {
    level_ = level;
    scratch_ = static_cast<std::size_t>(bytes.value);
    return *this;
  }
  int league() const { return league_; }
  std::size_t scratch() const { return scratch_; }
  /// Throws Error where a GPU could not run such a league.
  void check(const char *name) const;

 private:
  int league_;
  int level_ = 0;
  std::size_t scratch_ = 0;
};

struct RangePolicy {
  long begin, end;
  RangePolicy(long first, long last) : begin(first), end(last) {}
  /// Throws Error where kernels could not count these indices with an int.
  void check(const char *name) const;
};

/// Kokkos' functions for these policies: put a kernel into the stream.
template <class F> void parallel_for(const char *name, const TeamPolicy &policy, const F &f)
{
  policy.check(name);
  check_captures(name, f);
  enqueue([name, policy, f] {
    const LaneBody body = [](const void *data, const LaneOfTeam &lane) {
      (*static_cast<const F *>(data))(Team(lane));
    };
    run_league(name, policy.league(), policy.scratch(), body, &f);
  });
}

template <class F> void parallel_for(const char *name, const RangePolicy &policy, const F &f)
{
  policy.check(name);
  check_captures(name, f);
  enqueue([name, policy, f] {
    struct Data {
      const F &f;
      long begin;
    } data{f, policy.begin};
    const RangeBody body = [](const void *pointer, long begin, long end, long step) {
      const Data &d = *static_cast<const Data *>(pointer);
      for (long k = begin; k < end; k += step) d.f(static_cast<int>(d.begin + k));
    };
    run_range(name, policy.end - policy.begin, body, &data);
  });
}

/// Prefix sums of integers, in the two passes of a device.
template <class F> void parallel_scan(const char *name, const RangePolicy &policy, const F &f)
{
  policy.check(name);
  check_captures(name, f);
  enqueue([name, policy, f] {
    struct Data {
      const F &f;
      const RangePolicy &policy;
    } data{f, policy};
    const RangeBody body = [](const void *pointer, long begin, long end, long) {
      const Data &d = *static_cast<const Data *>(pointer);
      constexpr long block = 64;
      int before = 0;
      for (long first = d.policy.begin; begin < end && first < d.policy.end; first += block) {
        const long last = first + block < d.policy.end ? first + block : d.policy.end;
        int total = 0, sum = before;
        for (long k = first; k < last; ++k) d.f(static_cast<int>(k), total, false);
        for (long k = first; k < last; ++k) d.f(static_cast<int>(k), sum, true);
        before += total;
      }
    };
    run_range(name, 1, body, &data);
  });
}

}  // namespace dptrain::rehearsal

namespace Kokkos {

using dptrain::rehearsal::parallel_for;
using dptrain::rehearsal::parallel_scan;

}  // namespace Kokkos
