#pragma once

#include <cstdint>
#include <vector>

#include "dptrain/communicator.h"
#include "dptrain/frame.h"

namespace dptrain {

/// Throws Error on all ranks if a frame cannot be trained on: array sizes that do not fit, types outside the model,
/// positions or labels that are not finite, labels that some ranks have and others do not. Collective.
void check_frame(const Communicator &comm, const Frame &frame, int ntypes);

/// Atoms of each type in the whole frame, [ntypes]. Collective.
std::vector<std::int64_t> count_types(const Communicator &comm, const Frame &frame, int ntypes);

/// The shortest distance in Angstrom between an atom and a neighbour over all ranks; infinity without a pair. Throws
/// Error if it is zero. Collective.
double shortest_distance(const Communicator &comm, const Frame &frame);

}  // namespace dptrain
