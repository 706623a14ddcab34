// dptrainplugin.so: the small library that LAMMPS loads. It checks that this LAMMPS is the one the package
// was built for, with nothing but LAMMPS' C interface, which is the same in all versions. Only then it
// opens dptrain_styles.so beside it, which holds the styles and needs LibTorch. LAMMPS says nothing when
// a plugin of its plugin path cannot be opened; with two files every failure has a message.

#include "adapter/lammps_compat.h"
#include "plugin/plugin_guard.h"

#include "library.h"
#include "lmptype.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mpi.h>

namespace {

const char *const kStylesLibrary = "dptrain_styles.so";

dptrain::LammpsFacts compiled_facts()
{
  dptrain::LammpsFacts facts;
  facts.version = DPTRAIN_LAMMPS_VERSION;
  facts.tagint_bytes = sizeof(LAMMPS_NS::tagint);
  facts.bigint_bytes = sizeof(LAMMPS_NS::bigint);
  facts.imageint_bytes = sizeof(LAMMPS_NS::imageint);
#if defined(OPEN_MPI)
  facts.mpi_family = "openmpi";
#else
  facts.mpi_family = "mpich";
#endif
#ifdef DPTRAIN_KOKKOS_SHARED
  facts.kokkos_shared = true;
#endif
  // unittest/lammps builds plugins that state wrong facts
#ifdef DPTRAIN_TEST_LAMMPS_VERSION
  facts.version = DPTRAIN_TEST_LAMMPS_VERSION;
#endif
#ifdef DPTRAIN_TEST_TAGINT_BYTES
  facts.tagint_bytes = DPTRAIN_TEST_TAGINT_BYTES;
#endif
#ifdef DPTRAIN_TEST_MPI_FAMILY
  facts.mpi_family = DPTRAIN_TEST_MPI_FAMILY;
#endif
  return facts;
}

dptrain::LammpsFacts running_facts(void *lmp)
{
  dptrain::LammpsFacts facts;
  facts.version = lammps_version(lmp);
  facts.tagint_bytes = lammps_extract_setting(lmp, "tagint");
  facts.bigint_bytes = lammps_extract_setting(lmp, "bigint");
  facts.imageint_bytes = lammps_extract_setting(lmp, "imageint");
  facts.kokkos_package = lammps_config_has_package("KOKKOS");
  if (lammps_config_has_mpi_support()) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    facts.mpi_family = dptrain::mpi_family_of(std::string(text, length));
    int initialized = 0;
    MPI_Initialized(&initialized);
    facts.mpi_initialized = initialized != 0;
  }
  return facts;
}

/// One message for all ranks. The styles stay unknown, so that an input that uses them stops there, and
/// one that does not is left alone.
void report(void *lmp, const std::string &message)
{
  if (lammps_extract_setting(lmp, "world_rank") == 0)
    std::fprintf(stderr, "ERROR: %s\n", message.c_str());
}

/// OpenMP threads that wait for others spin for some microseconds and then sleep, unless the user has chosen. GNU's library
/// reads this when it is loaded, with LibTorch. By default it spins for milliseconds: on a core that another program uses
/// too, each of the hundred waits of a step then costs a time slice. To sleep at once is slow on a free core.
void limit_spinning()
{
  if (!std::getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "1000", 0);
}

/// Folder of this very file, with a slash at its end.
std::string own_folder()
{
  Dl_info info;
  if (!dladdr(kStylesLibrary, &info) || !info.dli_fname) return "./";
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void *lmp, void *handle,
                                                                         void *regfunc)
{
  const std::string refusal = dptrain::plugin_refusal(compiled_facts(), running_facts(lmp));
  if (!refusal.empty()) return report(lmp, refusal);

  limit_spinning();
  // DEEPBIND: LAMMPS exports reference versions of dgemm_ and other BLAS and LAPACK functions, and without it LibTorch
  // would call those in place of its own: matrix products several times slower.
  // NODELETE: LibTorch and Kokkos do not survive being unloaded and loaded again.
  void *styles = dlopen((own_folder() + kStylesLibrary).c_str(),
                        RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_DEEPBIND);
  if (!styles)
    return report(lmp, std::string("dptrainplugin.so cannot load its styles: ") + dlerror() +
                           ". Install the package again (README.md, section Install)");
  auto register_styles =
      reinterpret_cast<dptrain_register_function>(dlsym(styles, "dptrain_register_styles"));
  if (!register_styles)
    return report(lmp, "dptrainplugin.so cannot use " + own_folder() + kStylesLibrary +
                           ": it is from another version. Install the package again");
  register_styles(lmp, handle, regfunc);
}
