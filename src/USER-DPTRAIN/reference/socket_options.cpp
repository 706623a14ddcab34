/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/socket_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

SocketOptions LAMMPS_NS::read_socket_options(FixArguments &a)
{
  SocketOptions o;
  o.address =
      a.word("socket ADDRESS [timeout SECONDS] [wait SECONDS] [retries N] [failed skip|stop] "
             "[virial yes|no] end");
  a.read_block("reference socket",
               {{"timeout", [&] { o.timeout = a.real("SECONDS, 0 for no limit", 0.0); }},
                {"wait", [&] { o.wait = a.real("SECONDS, a number that is not negative", 0.0); }},
                {"retries", [&] { o.retries = a.whole_number("N from 0"); }},
                {"failed",
                 [&] {
                   o.stop = a.one_of({"skip", "stop"}) == "stop";
                 }},
                {"virial", [&] {
                   o.virial = a.one_of({"yes", "no"}) == "yes";
                 }}});
  return o;
}
