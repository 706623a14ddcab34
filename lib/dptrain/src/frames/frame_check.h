#pragma once

#include <optional>

#include "dptrain/frames/frame.h"
#include "dptrain/frames/pair_distances.h"
#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Throws Error on all ranks if a frame cannot be trained on: array sizes that do not fit, types outside the model,
/// positions or labels that are not finite, two atoms at one place, labels that some ranks have and others do not. Counts
/// the atoms of each type where nobody has. Returns how close atoms come whose forces count. Collective.
PairDistances check_frame(const Communicator &comm, Frame &frame, int ntypes);

/// Throws Error where a frame tells another total charge than the charges of the model have, in e; none: either may be any.
void check_charge(std::optional<double> of_frame, std::optional<double> of_model);
/// Charges act through all cells: throws Error where a frame has none.
void need_cell_for_charges(bool periodic);

}  // namespace dptrain
