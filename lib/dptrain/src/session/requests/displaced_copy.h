#pragma once

#include <cstdint>

#include "dptrain/frames/whole_frame.h"
#include "dptrain/session/learning_options.h"

namespace dptrain {

/// Copy number k (from 0) of `options.copies` of a configuration, without label: its cell strained and its atoms displaced at random,
/// the last copy as far as the options say, the others less in proportion, and the first of several not at all: codes with an input of
/// their own want to begin with that. The same on all ranks.
WholeFrame displaced_copy(const WholeFrame &start, const PrepareOptions &options, int k,
                          std::uint64_t seed);

}  // namespace dptrain
