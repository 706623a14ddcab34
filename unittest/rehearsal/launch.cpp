#include "rehearsal/launch.h"

#include <fmt/format.h>
#include <limits>
#include <string>

#include "dptrain/base/error.h"

namespace dptrain::rehearsal {
namespace {

// What Kokkos gives a team on a GPU: shared memory of a block that needs no permission of its own, less what its reductions
// take; and memory of the second level.
constexpr std::size_t most_shared = (std::size_t(48) << 10) - 4096;
constexpr std::size_t most_second_level = std::size_t(20) << 20;

[[noreturn]] void fail(const char *name, const std::string &what)
{
  throw Error(fmt::format("rehearsal: {}: {}; correct the launch", name, what));
}

}  // namespace

void RangePolicy::check(const char *name) const
{
  if (begin < 0 || end < begin || end > std::numeric_limits<int>::max())
    fail(name, fmt::format("indices from {} to {}", begin, end));
}

void TeamPolicy::check(const char *name) const
{
  if (league_ < 0) fail(name, fmt::format("a league of {} teams: an int has overflowed", league_));
  const std::size_t most = level_ == 0 ? most_shared : most_second_level;
  if (scratch_ > most)
    fail(name, fmt::format("{} bytes of scratch memory of level {} for a team: a GPU has {}",
                           scratch_, level_, most));
}

}  // namespace dptrain::rehearsal
