#pragma once

#include <string>

#include "dptrain/communicator.h"
#include "dptrain/config.h"
#include "dptrain/files.h"

namespace LAMMPS_NS {

/// Copies what rank 0 has read from a file to all ranks, so that only one rank touches the disk. Collective.
void broadcast(const dptrain::Communicator &comm, std::string &text);
void broadcast(const dptrain::Communicator &comm, dptrain::ModelData &data);
void broadcast(const dptrain::Communicator &comm, dptrain::Checkpoint &checkpoint);
void broadcast(const dptrain::Communicator &comm, dptrain::WholeFrame &frame);

}  // namespace LAMMPS_NS
