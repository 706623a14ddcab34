#pragma once

#include "dptrain/base/messages.h"
#include "dptrain/data/data_set.h"
#include "dptrain/input/config.h"

namespace dptrain {

/// Takes the frames of one atom without neighbors out of data: their energies become the model's energies of separate atoms.
/// `say` gets a line about each. Systems of such frames alone are left out. Throws Error where two frames, or a frame and the
/// key atom_ener, have different energies for an element, and where nothing else is in the data.
Systems split_separate_atoms(const Systems &systems, ModelConfig &config, const Log &say);

}  // namespace dptrain
