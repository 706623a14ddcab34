#include "statistics/data/statistics_share.h"

#include <algorithm>

namespace dptrain {

namespace {

// A frame of more than this part of a rank's atoms is cut.
constexpr std::int64_t small_part = 16;

/// Calls visit(system, frame, atoms) for all frames that count.
template <class Visit>
void for_each_frame(const Systems &systems, const std::vector<std::int64_t> &max_frames,
                    const Visit &visit)
{
  for (std::size_t s = 0; s < systems.size(); ++s) {
    const std::int64_t all = systems[s]->num_frames();
    const std::int64_t n = max_frames.empty() ? all : std::min(max_frames[s], all);
    const bool same = systems[s]->same_atoms() && n > 0;
    const std::int64_t natoms = same ? systems[s]->natoms(0) : 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t frame = k * all / n;
      visit(s, frame, same ? natoms : systems[s]->natoms(frame));
    }
  }
}

}  // namespace

void for_each_share(const Systems &systems, const std::vector<std::int64_t> &max_frames, bool cut,
                    int rank, int size, const std::function<void(const FrameShare &)> &visit)
{
  std::int64_t total = 0, before = 0;
  for_each_frame(systems, max_frames,
                 [&](std::size_t, std::int64_t, std::int64_t natoms) { total += natoms; });
  const std::int64_t low = total / size * rank + std::min<std::int64_t>(rank, total % size);
  const std::int64_t high = low + total / size + (rank < total % size);
  for_each_frame(systems, max_frames, [&](std::size_t s, std::int64_t frame, std::int64_t natoms) {
    if (cut && natoms * small_part > total / size) {
      const std::int64_t begin = std::clamp<std::int64_t>(low - before, 0, natoms);
      const std::int64_t end = std::clamp<std::int64_t>(high - before, 0, natoms);
      if (begin < end) visit({s, frame, begin, end, natoms});
    } else {
      // the rank that has its middle
      const std::int64_t middle = before + natoms / 2;
      if (middle >= low && middle < high) visit({s, frame, 0, 1, 1});
    }
    before += natoms;
  });
}

}  // namespace dptrain
