#pragma once

#include "dptrain/commands/commands.h"
#include "dptrain/data/data_set.h"

namespace dptrain {

/// The same systems with labels that are without a baseline.
Systems less_baseline(const Systems &systems, const EvaluateBaseline &baseline);

}  // namespace dptrain
