#include "rehearsal/launch.h"

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
  throw Error("rehearsal: " + std::string(name) + ": " + what + "; correct the launch");
}

}  // namespace

void RangePolicy::check(const char *name) const
{
  if (begin < 0 || end < begin || end > std::numeric_limits<int>::max())
    fail(name, "indices from " + std::to_string(begin) + " to " + std::to_string(end));
}

void TeamPolicy::check(const char *name) const
{
  if (league_ < 0)
    fail(name, "a league of " + std::to_string(league_) + " teams: an int has overflowed");
  const std::size_t most = level_ == 0 ? most_shared : most_second_level;
  if (scratch_ > most)
    fail(name, std::to_string(scratch_) + " bytes of scratch memory of level " +
                   std::to_string(level_) + " for a team: a GPU has " + std::to_string(most));
}

}  // namespace dptrain::rehearsal
