/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/socket_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

SocketOptions LAMMPS_NS::read_socket_options(FixArguments &arguments)
{
  const std::string usage = "socket ADDRESS [timeout SECONDS] [wait SECONDS] [retries N] [failed "
                            "skip|stop] [virial yes|no] end";
  SocketOptions options;
  options.address = arguments.word(usage);
  arguments.read_options(
      "socket", usage,
      {{"timeout",
        [&] {
          options.timeout = arguments.real("socket ... timeout SECONDS, 0 for no limit", 0.0);
        }},
       {"wait",
        [&] {
          options.wait =
              arguments.real("socket ... wait SECONDS, a number that is not negative", 0.0);
        }},
       {"retries",
        [&] { options.retries = arguments.whole_number("socket ... retries N from 0"); }},
       {"failed",
        [&] {
          options.stop = arguments.one_of({"skip", "stop"}) == "stop";
        }},
       {"virial", [&] {
          options.virial = arguments.one_of({"yes", "no"}) == "yes";
        }}});
  return options;
}
