#pragma once

#include "pair_options.h"
#include "reference_values.h"
#include "socket_options.h"

namespace LAMMPS_NS {

/// What the keyword `reference` of fix dptrain says.
struct ReferenceOptions {
  enum class Source { none, pair, run, values, socket };
  Source source = Source::none;
  PairOptions pair;
  ValuesOptions values;
  SocketOptions socket;
};

/// Reads what follows `reference`.
ReferenceOptions read_reference(FixArguments &arguments);

}  // namespace LAMMPS_NS
