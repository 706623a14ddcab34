/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/reference_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

ReferenceOptions LAMMPS_NS::read_reference(FixArguments &arguments)
{
  ReferenceOptions options;
  const std::string source = arguments.one_of({"pair", "run", "values", "socket", "spool"});
  if (source == "run") {
    options.source = ReferenceOptions::Source::run;
  } else if (source == "values") {
    options.source = ReferenceOptions::Source::values;
    options.values = read_values_options(arguments);
  } else if (source == "socket") {
    options.source = ReferenceOptions::Source::socket;
    options.socket = read_socket_options(arguments);
  } else if (source == "spool") {
    options.source = ReferenceOptions::Source::spool;
    options.spool = read_spool_options(arguments);
  } else {
    options.source = ReferenceOptions::Source::pair;
    options.pair = read_pair_options(arguments);
  }
  return options;
}
