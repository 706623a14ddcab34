// Entry point of dptrainplugin.so: checks that the LAMMPS that loads it is the one it was built for, then registers
// the styles of the table below.

#include "lammps_compat.h"
#include "plugin_guard.h"

#include "error.h"
#include "lammps.h"
#include "library.h"
#include "lmptype.h"

#if __has_include("pair_dptrain.h")
#include "pair_dptrain.h"
#define DPTRAIN_HAS_PAIR
#endif
#if __has_include("fix_dptrain.h")
#include "fix_dptrain.h"
#define DPTRAIN_HAS_FIX
#endif

#include <mpi.h>

using namespace LAMMPS_NS;

namespace {

template <class Style> void *create_pair(void *lmp)
{
  return new Style(static_cast<LAMMPS *>(lmp));
}

template <class Style> void *create_fix(void *lmp, int narg, char **arg)
{
  return new Style(static_cast<LAMMPS *>(lmp), narg, arg);
}

struct StyleEntry {
  const char *style;
  const char *name;
  const char *info;
  dptrain_factory1 v1;
  dptrain_factory2 v2;
};

const StyleEntry kStyles[] = {
#ifdef DPTRAIN_HAS_PAIR
    {"pair", "dptrain", "deep potential, trained while it runs", create_pair<PairDPTrain>, nullptr},
#endif
#ifdef DPTRAIN_HAS_FIX
    {"fix", "dptrain", "collects reference labels and trains the deep potential", nullptr,
     create_fix<FixDPTrain>},
#endif
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

dptrain::LammpsFacts compiled_facts()
{
  dptrain::LammpsFacts facts;
  facts.version_date = DPTRAIN_LAMMPS_DATE;
  facts.version_number = DPTRAIN_LAMMPS_VERSION;
  facts.tagint_bytes = sizeof(tagint);
  facts.bigint_bytes = sizeof(bigint);
  facts.imageint_bytes = sizeof(imageint);
#if defined(OPEN_MPI)
  facts.mpi_family = "openmpi";
#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(I_MPI_VERSION)
  facts.mpi_family = "mpich";
#else
  facts.mpi_family = dptrain::mpi_family_of("");
#endif
#ifdef DPTRAIN_KOKKOS_SHARED
  facts.kokkos_shared = true;
#endif
  // unittest/lammps builds plugins that state wrong facts
#ifdef DPTRAIN_TEST_LAMMPS_DATE
  facts.version_date = DPTRAIN_TEST_LAMMPS_DATE;
#endif
#ifdef DPTRAIN_TEST_TAGINT_BYTES
  facts.tagint_bytes = DPTRAIN_TEST_TAGINT_BYTES;
#endif
#ifdef DPTRAIN_TEST_MPI_FAMILY
  facts.mpi_family = DPTRAIN_TEST_MPI_FAMILY;
#endif
  return facts;
}

/// Reads only members and C functions whose place and signature are the same in all LAMMPS versions.
dptrain::LammpsFacts running_facts(LAMMPS *lmp)
{
  dptrain::LammpsFacts facts;
  facts.version_date = lmp->version;
  facts.version_number = lmp->num_ver;
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

}  // namespace

extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void *ptr, void *handle,
                                                                         void *regfunc)
{
  auto *lmp = static_cast<LAMMPS *>(ptr);
  const std::string refusal = dptrain::plugin_refusal(compiled_facts(), running_facts(lmp));
  if (!refusal.empty()) lmp->error->all(FLERR, refusal);

  auto register_style = reinterpret_cast<lammpsplugin_regfunc>(regfunc);
  for (const StyleEntry &entry : kStyles) {
    if (!entry.name) break;
    lammpsplugin_t plugin;
    plugin.version = DPTRAIN_LAMMPS_DATE;
    plugin.style = entry.style;
    plugin.name = entry.name;
    plugin.info = entry.info;
    plugin.author = "USER-DPTRAIN " DPTRAIN_VERSION;
    if (entry.v1)
      plugin.creator.v1 = entry.v1;
    else
      plugin.creator.v2 = entry.v2;
    plugin.handle = handle;
    register_style(&plugin, lmp);
  }
}
