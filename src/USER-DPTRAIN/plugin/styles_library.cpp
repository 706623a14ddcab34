/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "plugin/styles_library.h"

#include "exceptions.h"
#include "library.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mpi.h>
#include <string>
#include <thread>

namespace dptrain {

namespace {

const char *const kFile = "dptrain_styles.so";

/// OpenMP threads that wait for others spin for some microseconds and then sleep, unless the user
/// has chosen. GNU's library reads this when it is loaded, with LibTorch. By default it spins for
/// milliseconds: on a core that another program uses too, each of the hundred waits of a step then
/// costs a time slice. To sleep at once is slow on a free core.
void limit_spinning()
{
  if (!std::getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "1000", 0);
}

/// Folder of this very file, with a slash at its end.
std::string own_folder()
{
  Dl_info info;
  if (!dladdr(kFile, &info) || !info.dli_fname) return "./";
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

/// Whether this processor has the instructions that the styles were compiled for, as far as that is
/// known.
bool processor_fits()
{
#ifdef __x86_64__
  const std::string march = DPTRAIN_MARCH;
  if (march == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (march == "x86-64-v4")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return true;
}

/// The factory of a style on this rank. Null where there is none; `message` says why.
dptrain_factory find(void *lmp, const char *kind, const char *name, std::string &message)
{
  dptrain_factory factory;
  factory.v1 = nullptr;
  if (!processor_fits()) {
    message = "dptrainplugin.so was built for processors of kind " DPTRAIN_MARCH
              ", and this one is older: build the package on this machine (manual, Build_dptrain)";
    return factory;
  }
  limit_spinning();
  // DEEPBIND: LAMMPS exports reference versions of dgemm_ and other BLAS and LAPACK functions, and
  // without it LibTorch would call those in place of its own: matrix products several times slower.
  // NODELETE: LibTorch and Kokkos do not survive being unloaded and loaded again.
  void *styles =
      dlopen((own_folder() + kFile).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_DEEPBIND);
  if (!styles) {
    message = std::string("dptrainplugin.so cannot load its styles: ") + dlerror() +
              ". They were built with torch " DPTRAIN_TORCH_VERSION
              " and are for that version alone. Install the package again (manual, Build_dptrain)";
    return factory;
  }
  const auto find_factory =
      reinterpret_cast<dptrain_find_factory>(dlsym(styles, "dptrain_find_style"));
  const char *refusal = nullptr;
  if (find_factory) factory = find_factory(lmp, kind, name, &refusal);
  if (refusal)
    message = refusal;
  else if (!factory.v1)
    message = "dptrainplugin.so cannot use " + own_folder() + kFile +
              ": it is from another version. Install the package again";
  return factory;
}

/// The message of the lowest rank that has one, on all ranks of `lmp`; that rank writes it to
/// stderr.
std::string agreed_message(void *lmp, std::string message)
{
  const MPI_Comm world = MPI_Comm_f2c(lammps_get_mpi_comm(lmp));
  const int rank = lammps_extract_setting(lmp, "world_rank");
  const int ranks = lammps_extract_setting(lmp, "world_size");
  int speaker = message.empty() ? ranks : rank;
  MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, world);
  if (speaker == ranks) return "";
  if (speaker == rank) std::fprintf(stderr, "ERROR: %s\n", message.c_str());
  int length = static_cast<int>(message.size());
  MPI_Bcast(&length, 1, MPI_INT, speaker, world);
  message.resize(length);
  MPI_Bcast(message.data(), length, MPI_CHAR, speaker, world);
  return message;
}

/// What LAMMPS itself throws after it has printed an error. The functions that print it have other
/// names in other versions: LAMMPS could not open a plugin that needs them, and nobody would hear
/// why.
[[noreturn]] void stop(void *lmp, const std::string &message)
{
  if (lammps_extract_setting(lmp, "world_size") == lammps_extract_setting(lmp, "universe_size"))
    throw LAMMPS_NS::LAMMPSException(message);
  // other partitions wait for this one; an abort overtakes the message where it does not get time
  // to arrive
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  throw LAMMPS_NS::LAMMPSAbortException(message, MPI_COMM_WORLD);
}

}  // namespace

dptrain_factory style_factory(void *lmp, const char *kind, const char *name)
{
  std::string message;
  const dptrain_factory factory = find(lmp, kind, name, message);
  message = agreed_message(lmp, message);
  if (!message.empty()) stop(lmp, message);
  return factory;
}

}  // namespace dptrain
