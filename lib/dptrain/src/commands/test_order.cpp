#include "commands/test_order.h"

#include <algorithm>
#include <numeric>

namespace dptrain {

FrameOrder::FrameOrder(const TestOptions &options) :
    most_(options.numb_test),
    shuffled_(options.shuffle),
    engine_(static_cast<std::uint32_t>(options.seed.value_or(0)))
{
}

std::vector<std::int64_t> FrameOrder::next(std::int64_t frames)
{
  const std::int64_t count = most_ > 0 ? std::min(most_, frames) : frames;
  std::vector<std::int64_t> order(shuffled_ ? frames : count);
  std::iota(order.begin(), order.end(), std::int64_t(0));
  if (shuffled_) shuffle(order);
  order.resize(count);
  return order;
}

// numpy/random/mtrand.pyx (shuffle) and legacy random_interval: from the end, a partner from the bits that the index
// needs, drawn again while it is too large.
void FrameOrder::shuffle(std::vector<std::int64_t> &order)
{
  for (std::size_t last = order.size(); last-- > 1;) {
    std::uint32_t mask = 0, partner = 0;
    while (mask < last) mask = 2 * mask + 1;
    do partner = static_cast<std::uint32_t>(engine_()) & mask;
    while (partner > last);
    std::swap(order[last], order[partner]);
  }
}

}  // namespace dptrain
