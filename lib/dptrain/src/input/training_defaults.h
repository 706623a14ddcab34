#pragma once

#include "dptrain/input/config.h"

namespace dptrain {

/// How potentials with a descriptor of this program are trained where an input says nothing, which may differ in a session
/// (InputUse::in_a_run).
void set_training_defaults(InputFile &input, bool in_a_run);

}  // namespace dptrain
