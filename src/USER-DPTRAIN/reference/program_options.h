/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>

namespace LAMMPS_NS {

class FixArguments;

/// What all other programs that make labels have in common.
struct ProgramOptions {
  bool stop = false;   ///< the run ends where no label can be had
  bool virial = true;  ///< labels have it
};

/// Clients: what `socket ADDRESS [timeout S] [wait S] [retries N] [failed skip|stop] [virial
/// yes|no] end` says.
struct SocketOptions : ProgramOptions {
  std::string address;
  double timeout = 3600.0;  ///< seconds that a calculation may take; 0: no limit
  double wait = 600.0;      ///< seconds to wait while no client is there
  int retries = 2;          ///< after the loss of a client
};

/// Files in a folder: what `spool FOLDER [timeout S] [failed skip|stop] [virial yes|no] end` says.
struct SpoolOptions : ProgramOptions {
  std::string folder;
  double timeout = 0.0;  ///< seconds that an answer may take; 0: no limit
};

/// Reads what follows `socket`, up to `end`.
SocketOptions read_socket_options(FixArguments &arguments);
/// Reads what follows `spool`, up to `end`.
SpoolOptions read_spool_options(FixArguments &arguments);

}  // namespace LAMMPS_NS
