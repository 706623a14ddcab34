#pragma once

#include "dptrain/parallel/communicator.h"
#include "dptrain/potential/model/model.h"

namespace dptrain {

/// Makes the walls of a model strong enough: the energy of two atoms alone rises all the way from 0.9 to 0.5 of the distance at which
/// their wall begins, and by 20 eV down to 0.5 Angstrom. Where the net attracts them, or the nuclei are light, the repulsion is doubled
/// until that is so. Above, where the wall is being switched on, a
/// stronger one would do harm: measured, 16 times ZBL makes the errors of configurations that come as close as this larger. The same on all ranks.
/// Collective. Does nothing for a model without walls.
void stiffen_walls(const Communicator &comm, Model &model);

}  // namespace dptrain
