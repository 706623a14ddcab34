#include "potential/descriptor/edge_finder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "dptrain/base/error.h"
#include "kernels/workers.h"

namespace dptrain {
namespace {

// Places for a neighbor list of this size.
int list_capacity(int size)
{
  return (size + 15) / 16 * 16;
}

void mark(const std::vector<std::array<int, 2>> &pairs, int ntypes, char *flags)
{
  for (const auto &[a, b] : pairs) flags[a * ntypes + b] = flags[b * ntypes + a] = 1;
}

}  // namespace

EdgeFinder::EdgeFinder(int ntypes, EdgeLimits limits) : limits_(std::move(limits))
{
  const long square = static_cast<long>(ntypes) * ntypes;
  std::vector<char> flags(2 * square, 0);
  mark(limits_.dropped, ntypes, flags.data());
  mark(limits_.hidden, ntypes, flags.data() + square);
  excluded_.copy_from(flags);
  sel_.copy_from(limits_.sel);
  const bool limited = !limits_.sel.empty();
  const int slots = std::accumulate(limits_.sel.begin(), limits_.sel.end(), 0);
  capacity_ = list_capacity(limited ? slots : limits_.usual_neighbors);
  for (int t = 0; t < ntypes; ++t) {
    const char *dropped = excluded_.data() + static_cast<long>(t) * ntypes;
    rules_.push_back({limits_.rcut, slots, limited ? sel_.data() : nullptr, dropped,
                      dropped + square, !limits_.dropped.empty() || !limits_.hidden.empty()});
  }
}

bool EdgeFinder::finds(const EdgeLimits &all_within) const
{
  return limits_.sel.empty() && limits_.dropped.empty() && limits_.hidden.empty() &&
         all_within.rcut <= limits_.rcut;
}

int EdgeFinder::most_slots(const FrameSet &frames) const
{
  return std::max(1, frames.search() ? capacity_ : frames.largest_row());
}

// Nothing is known of the neighbors yet.
void EdgeFinder::begin_sweep()
{
  host_reports_.assign(kernels::workers(), GatherReport{HUGE_VAL, 0, 0});
  reports_.copy_from(host_reports_);
}

std::optional<EdgeFinder::Report> EdgeFinder::end_sweep(const FrameSet &frames)
{
  reports_.copy_to(host_reports_.data());
  GatherReport all{HUGE_VAL, 0, 0};
  for (const GatherReport &r : host_reports_) {
    all.smallest_r2 = std::min(all.smallest_r2, r.smallest_r2);
    all.largest_row = std::max(all.largest_row, r.largest_row);
    all.overflow += r.overflow;
  }
  if (all.smallest_r2 < 0.0)
    throw Error("the position of an atom is not finite: the simulation has blown up (check the "
                "time step, the start configuration and the model)");
  if (frames.search() && all.largest_row > capacity_) {
    capacity_ = list_capacity(all.largest_row + all.largest_row / 8);
    return std::nullopt;
  }
  if (all.smallest_r2 == 0.0)
    throw Error(
        "two atoms are at the same place: the start configuration overlaps or the simulation has "
        "blown up (check the time step, the start configuration and the model)");
  return Report{std::sqrt(all.smallest_r2), all.overflow};
}

}  // namespace dptrain
