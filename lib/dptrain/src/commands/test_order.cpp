#include "commands/test_order.h"

#include <algorithm>
#include <numeric>

namespace dptrain {

FrameOrder::FrameOrder(const TestOptions &options) :
    most_(options.numb_test),
    shuffled_(options.shuffle),
    engine_(static_cast<std::uint64_t>(options.seed.value_or(0)))
{
}

std::vector<std::int64_t> FrameOrder::next(std::int64_t frames)
{
  const std::int64_t count = most_ > 0 ? std::min(most_, frames) : frames;
  std::vector<std::int64_t> order(shuffled_ ? frames : count);
  std::iota(order.begin(), order.end(), std::int64_t(0));
  if (shuffled_)
    for (std::size_t last = order.size(); last-- > 1;)
      std::swap(order[last], order[random_index(engine_, last + 1)]);
  order.resize(count);
  return order;
}

}  // namespace dptrain
