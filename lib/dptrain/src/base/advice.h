#pragma once

#include <fmt/format.h>
#include <string>

#include "dptrain/base/error.h"

// What messages of several places end with: what to do.

namespace dptrain {

/// Something that no input can bring about; `what` says which rule of the program is broken.
inline Error internal_error(const std::string &what)
{
  return Error(
      fmt::format("{}: this is an error of the package; please report it with the input", what));
}

/// About a checkpoint that is not whole.
inline std::string checkpoint_advice()
{
  return "; copy the checkpoint again, or start from the model file beside it instead of resuming";
}

/// Where memory has run out.
inline std::string memory_advice()
{
  return "; use more ranks, a smaller 'batch' or 'micro_batch', or less 'frame_memory'";
}

}  // namespace dptrain
