#include "commands/spread_frames.h"

namespace dptrain {

std::vector<FrameId> spread_frames(const Systems &systems, std::int64_t most)
{
  std::vector<FrameId> all, some;
  for (std::size_t s = 0; s < systems.size(); ++s)
    for (std::int64_t k = 0; k < systems[s]->num_frames(); ++k) all.push_back({s, k});
  const std::int64_t count = static_cast<std::int64_t>(all.size());
  if (count <= most) return all;
  for (std::int64_t k = 0; k < most; ++k) some.push_back(all[k * count / most]);
  return some;
}

}  // namespace dptrain
