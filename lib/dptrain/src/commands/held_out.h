#pragma once

#include "dptrain/data/data_set.h"

namespace dptrain {

/// Systems whose frames are trained on, and those of the frames that are not.
struct HeldOut {
  Systems training, held_out;
};

/// Holds out about a part of the frames of each system, in blocks that follow one another: frames of a trajectory are like
/// their neighbors, and errors of single frames that the neighbors of were learned would flatter. A system keeps half of its frames
/// at least; of small systems every so many-th gives one. Nothing is held out where that would be two frames or less.
HeldOut hold_out(const Systems &systems, double part);

}  // namespace dptrain
