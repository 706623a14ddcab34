#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dptrain/data/data_set.h"

namespace dptrain {

/// A frame of a data set, or a part of its atoms: those from begin/of to end/of.
struct FrameShare {
  std::size_t system = 0;
  std::int64_t frame = 0;
  std::int64_t begin = 0, end = 1, of = 1;
};

/// Visits what rank `rank` of `size` ranks does of the frames of all systems, each with its frames spread evenly where
/// `max_frames` [systems] (or empty) is less than it has: about equal numbers of atoms, in the order of the data. Frames
/// are whole, but large ones are cut with `cut`.
void for_each_share(const Systems &systems, const std::vector<std::int64_t> &max_frames, bool cut,
                    int rank, int size, const std::function<void(const FrameShare &)> &visit);

}  // namespace dptrain
