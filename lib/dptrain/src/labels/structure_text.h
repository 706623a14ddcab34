#pragma once

#include <array>
#include <string>
#include <vector>

#include "dptrain/frames/whole_frame.h"

namespace dptrain {

/// Elements and positions as one frame of extended XYZ, with the box where `with_box` says so. `elements` are the names of
/// the frame's types; `periodic` says in which directions of the box the frame is; `note` ends the comment line.
std::string structure_text(const WholeFrame &frame, const std::vector<std::string> &elements,
                           const std::array<bool, 3> &periodic, bool with_box,
                           const std::string &note = "");

}  // namespace dptrain
