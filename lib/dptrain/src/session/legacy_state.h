#pragma once

#include <vector>

#include "dptrain/base/state.h"
#include "dptrain/session/checkpoint.h"

namespace dptrain {

// Checkpoints of format 1 (until November 2026) kept states as arrays whose layout followed from their lengths. Both
// functions throw Error where the numbers do not fit.

/// Trainer::state() from its array; the checkpoint has all but the states.
State trainer_of_version_1(const std::vector<double> &numbers, const Checkpoint &checkpoint);

/// Checkpoint::session from the array of fix dptrain or of dptrain train.
State session_of_version_1(const std::vector<double> &numbers);

}  // namespace dptrain
