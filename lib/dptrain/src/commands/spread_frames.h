#pragma once

#include <cstdint>
#include <vector>

#include "data/batch_plan.h"

namespace dptrain {

/// All frames, or `most` of them at equal distances.
std::vector<FrameId> spread_frames(const Systems &systems, std::int64_t most);

}  // namespace dptrain
