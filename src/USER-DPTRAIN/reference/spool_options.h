/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>

namespace LAMMPS_NS {

class FixArguments;

/// Files in a folder: what `spool FOLDER [timeout S] [failed skip|stop] [virial yes|no] end` says.
struct SpoolOptions {
  std::string folder;
  double timeout = 0.0;  ///< seconds that an answer may take; 0: no limit
  bool stop = false;     ///< the run ends where no label can be had
  bool virial = true;    ///< answers have it
};

/// Reads what follows `spool`, up to `end`.
SpoolOptions read_spool_options(FixArguments &arguments);

}  // namespace LAMMPS_NS
