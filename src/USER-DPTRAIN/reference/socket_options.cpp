#include "reference/socket_options.h"

#include "adapter/fix_arguments.h"

using namespace LAMMPS_NS;

SocketOptions LAMMPS_NS::read_socket_options(FixArguments &arguments)
{
  const std::string usage = "socket ADDRESS [timeout SECONDS] [wait SECONDS] [retries N] [failed "
                            "skip|stop] [virial yes|no] end";
  SocketOptions options;
  options.address = arguments.word(usage);
  for (std::string word = arguments.word(usage); word != "end"; word = arguments.word(usage)) {
    if (word == "timeout")
      options.timeout = arguments.real("socket ... timeout SECONDS, 0 for no limit", 0.0);
    else if (word == "wait")
      options.wait = arguments.real("socket ... wait SECONDS, a number that is not negative", 0.0);
    else if (word == "retries")
      options.retries = arguments.small_number("socket ... retries N", 0);
    else if (word == "failed")
      options.stop = arguments.one_of({"skip", "stop"}) == "stop";
    else if (word == "virial")
      options.virial = arguments.one_of({"yes", "no"}) == "yes";
    else
      arguments.lammps()->error->all(FLERR, arguments.position(),
                                     fmt::format("Fix dptrain: found {} where an option of the "
                                                 "socket or 'end' must stand: reference {}",
                                                 word, usage));
  }
  return options;
}
