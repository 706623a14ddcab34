#pragma once

#include <string>

#include "dptrain/communicator.h"
#include "dptrain/config.h"
#include "dptrain/device.h"
#include "dptrain/files.h"

namespace dptrain {

/// Copies what rank 0 has read from a file to all ranks, so that only one rank touches the disk. Collective.
void broadcast(const Communicator &comm, std::string &text);
void broadcast(const Communicator &comm, ModelData &data);
void broadcast(const Communicator &comm, Checkpoint &checkpoint);
void broadcast(const Communicator &comm, WholeFrame &frame);
/// The text of the lowest rank that has one, on all ranks; empty if none has. Collective.
std::string said_by_one(const Communicator &comm, std::string text);
/// From rank `root`.
void broadcast(const Communicator &comm, RankDevice &device, int root);

}  // namespace dptrain
