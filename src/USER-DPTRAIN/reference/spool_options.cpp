/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/spool_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

SpoolOptions LAMMPS_NS::read_spool_options(FixArguments &arguments)
{
  const std::string usage = "spool FOLDER [timeout SECONDS] [failed skip|stop] [virial yes|no] end";
  SpoolOptions options;
  options.folder = arguments.word(usage);
  arguments.read_options("spool", usage,
                         {{"timeout",
                           [&] {
                             options.timeout =
                                 arguments.real("spool ... timeout SECONDS, 0 for no limit", 0.0);
                           }},
                          {"failed",
                           [&] {
                             options.stop = arguments.one_of({"skip", "stop"}) == "stop";
                           }},
                          {"virial", [&] {
                             options.virial = arguments.one_of({"yes", "no"}) == "yes";
                           }}});
  return options;
}
