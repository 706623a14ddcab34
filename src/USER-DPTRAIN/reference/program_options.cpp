/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "reference/program_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

namespace {

// Options up to `end`: timeout, those of this source, and what all sources have.
void read_options(FixArguments &a, const std::string &label, double &timeout,
                  const std::vector<FixArguments::BlockOption> &own, ProgramOptions &o)
{
  std::vector<FixArguments::BlockOption> options{
      {"timeout", [&] { timeout = a.real("SECONDS, 0 for no limit", 0.0); }}};
  options.insert(options.end(), own.begin(), own.end());
  options.push_back({"failed", [&] { o.stop = a.one_of({"skip", "stop"}) == "stop"; }});
  options.push_back({"virial", [&] { o.virial = a.one_of({"yes", "no"}) == "yes"; }});
  a.read_block(label, options);
}

}  // namespace

SocketOptions LAMMPS_NS::read_socket_options(FixArguments &a)
{
  SocketOptions o;
  o.address =
      a.word("socket ADDRESS [timeout SECONDS] [wait SECONDS] [retries N] [failed skip|stop] "
             "[virial yes|no] end");
  read_options(a, "reference socket", o.timeout,
               {{"wait", [&] { o.wait = a.real("SECONDS, a number that is not negative", 0.0); }},
                {"retries", [&] { o.retries = a.whole_number("N from 0"); }}},
               o);
  return o;
}

SpoolOptions LAMMPS_NS::read_spool_options(FixArguments &a)
{
  SpoolOptions o;
  o.folder = a.word("spool FOLDER [timeout SECONDS] [failed skip|stop] [virial yes|no] end");
  read_options(a, "reference spool", o.timeout, {}, o);
  return o;
}
