#pragma once

#include <string>

#include "dptrain/frames/whole_frame.h"
#include "labels/ipi_client.h"

namespace dptrain {

/// Why the result of a calculation is no label; empty if it is one. `virial`: the virial must be there, too.
std::string why_unusable(const IpiResult &result, const WholeFrame &frame, bool virial);

/// What the client says it computes with, in its extra string: {"calculator": "..."}; empty: nothing.
std::string calculator_of(const IpiResult &result);

}  // namespace dptrain
