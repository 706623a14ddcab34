/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include "nested/pair_options.h"
#include "reference/program_options.h"
#include "reference/reference_outputs.h"

namespace LAMMPS_NS {

/// What the keyword `reference` of fix dptrain says.
struct ReferenceOptions {
  enum class Source { none, pair, run, values, socket, spool };
  Source source = Source::none;
  PairOptions pair;
  ValuesOptions values;
  SocketOptions socket;
  SpoolOptions spool;
};

/// Reads what follows `reference`.
ReferenceOptions read_reference(FixArguments &arguments);

}  // namespace LAMMPS_NS
