#include "reference/spool_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

SpoolOptions LAMMPS_NS::read_spool_options(FixArguments &arguments)
{
  const std::string usage = "spool FOLDER [timeout SECONDS] [failed skip|stop] [virial yes|no] end";
  SpoolOptions options;
  options.folder = arguments.word(usage);
  for (std::string word = arguments.word(usage); word != "end"; word = arguments.word(usage)) {
    if (word == "timeout")
      options.timeout = arguments.real("spool ... timeout SECONDS, 0 for no limit", 0.0);
    else if (word == "failed")
      options.stop = arguments.one_of({"skip", "stop"}) == "stop";
    else if (word == "virial")
      options.virial = arguments.one_of({"yes", "no"}) == "yes";
    else
      arguments.lammps()->error->all(FLERR, arguments.position(),
                                     fmt::format("Fix dptrain: found {} where an option of the "
                                                 "spool or 'end' must stand: reference {}",
                                                 word, usage));
  }
  return options;
}
