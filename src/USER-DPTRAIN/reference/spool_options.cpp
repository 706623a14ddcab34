/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/spool_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

SpoolOptions LAMMPS_NS::read_spool_options(FixArguments &a)
{
  SpoolOptions o;
  o.folder = a.word("spool FOLDER [timeout SECONDS] [failed skip|stop] [virial yes|no] end");
  a.read_block("reference spool",
               {{"timeout", [&] { o.timeout = a.real("SECONDS, 0 for no limit", 0.0); }},
                {"failed",
                 [&] {
                   o.stop = a.one_of({"skip", "stop"}) == "stop";
                 }},
                {"virial", [&] {
                   o.virial = a.one_of({"yes", "no"}) == "yes";
                 }}});
  return o;
}
