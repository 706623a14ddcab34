#pragma once

#include <string>

#include "dptrain/parallel/communicator.h"

namespace dptrain {

/// Copies the text of rank 0 to all ranks. Collective.
void broadcast(const Communicator &comm, std::string &text);
/// The text of the lowest rank that has one, on all ranks; empty if none has. Collective.
std::string said_by_one(const Communicator &comm, std::string text);

}  // namespace dptrain
