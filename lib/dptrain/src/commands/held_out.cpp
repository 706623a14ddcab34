#include "commands/held_out.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "commands/system_view.h"

namespace dptrain {

namespace {

constexpr double fewest_frames = 3.0;        // that tell anything of errors
constexpr std::int64_t most_blocks = 4;      // of a system
constexpr std::int64_t frames_of_block = 6;  // at least: those at its ends are like their neighbors

// Which of n frames are held out: `number` of them, in blocks whose middles are at equal distances.
std::vector<char> blocks(std::int64_t n, std::int64_t number)
{
  std::vector<char> held(n, 0);
  const std::int64_t count = std::clamp<std::int64_t>(number / frames_of_block, 1, most_blocks);
  for (std::int64_t b = 0; b < count; ++b) {
    const std::int64_t size = (b + 1) * number / count - b * number / count;
    const std::int64_t begin = (2 * b + 1) * n / (2 * count) - size / 2;
    std::fill_n(held.begin() + std::clamp<std::int64_t>(begin, 0, n - size), size, 1);
  }
  return held;
}

}  // namespace

HeldOut hold_out(const Systems &systems, double part)
{
  HeldOut result;
  if (part * static_cast<double>(num_frames(systems)) < fewest_frames) part = 0.0;
  double owed = 0.0;
  for (const auto &system : systems) {
    const std::int64_t n = system->num_frames();
    owed += part * static_cast<double>(n);
    const std::int64_t number = std::min(static_cast<std::int64_t>(owed), n / 2);
    owed -= static_cast<double>(number);
    if (number == 0) {
      result.training.push_back(system);
      continue;
    }
    const std::vector<char> held = blocks(n, number);
    std::vector<std::int64_t> kept, others;
    for (std::int64_t k = 0; k < n; ++k) (held[k] ? others : kept).push_back(k);
    result.training.push_back(std::make_shared<SomeFrames>(system, std::move(kept)));
    result.held_out.push_back(std::make_shared<SomeFrames>(system, std::move(others)));
  }
  return result;
}

}  // namespace dptrain
