/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// dptrainplugin.so: the small library that LAMMPS loads. It checks that this LAMMPS is the one the
// package was built for, with nothing but LAMMPS' C interface, which is the same in all versions,
// and tells LAMMPS of the styles. dptrain_styles.so beside it, which holds the styles and needs
// LibTorch, is opened with the first style that an input makes: inputs without them do not pay for
// it. LAMMPS says nothing when a plugin of its plugin path cannot be opened; with two files every
// failure has a message.

#include "adapter/lammps_compat.h"
#include "plugin/plugin_guard.h"
#include "plugin/styles_library.h"

#include "library.h"
#include "lmptype.h"

#include <cstddef>
#include <cstdio>
#include <iterator>
#include <mpi.h>
#include <utility>

namespace {

/// What LAMMPS is told of a style. How it is made is in style_factories.cpp.
struct Style {
  const char *kind;
  const char *name;
  const char *info;
  /// Whether its factory gets the words of the command: LAMMPS prescribes it for each kind.
  bool has_arguments;
  /// Only for a LAMMPS without its KOKKOS package; with it, -sf kk falls back to the plain style.
  bool says_what_is_missing = false;
};

constexpr Style kStyles[] = {
    {"pair", "dptrain", "deep potential", false},
    {"fix", "dptrain", "trains the deep potential on reference labels", true},
    {"compute", "dptrain/charge/atom", "charge of each atom in a potential", true},
    {"compute", "dptrain/uncertainty/atom", "error bar of the force on each atom", true},
    {"command", "dptrain", "trainings, tests and statistics from data sets", false},
    {"pair", "dptrain/kk", "not in a plugin", false, true},
    {"fix", "dptrain/kk", "not in a plugin", true, true},
    {"compute", "dptrain/uncertainty/atom/kk", "not in a plugin", true, true},
};

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

/// One message for all ranks. The styles stay unknown, so that an input that uses them stops there,
/// and one that does not is left alone.
void report(void *lmp, const std::string &message)
{
  if (lammps_extract_setting(lmp, "world_rank") == 0) std::fprintf(stderr, "%s\n", message.c_str());
}

template <std::size_t K> void *create(void *lmp)
{
  return dptrain::style_factory(lmp, kStyles[K].kind, kStyles[K].name).v1(lmp);
}

template <std::size_t K> void *create_with_arguments(void *lmp, int narg, char **arg)
{
  return dptrain::style_factory(lmp, kStyles[K].kind, kStyles[K].name).v2(lmp, narg, arg);
}

template <std::size_t K> void add_style(void *lmp, void *handle, lammpsplugin_regfunc add)
{
  lammpsplugin_t plugin;
  // LAMMPS warns about a text that differs from its own; the guard has compared the versions
  plugin.version = nullptr;
  plugin.style = kStyles[K].kind;
  plugin.name = kStyles[K].name;
  plugin.info = kStyles[K].info;
  plugin.author = "USER-DPTRAIN " DPTRAIN_VERSION;
  if (kStyles[K].has_arguments)
    plugin.creator.v2 = create_with_arguments<K>;
  else
    plugin.creator.v1 = create<K>;
  plugin.handle = handle;
  add(&plugin, lmp);
}

template <std::size_t... K>
void add_styles(void *lmp, void *handle, lammpsplugin_regfunc add, std::index_sequence<K...>)
{
  const bool kokkos = lammps_config_has_package("KOKKOS");
  const auto wanted = [kokkos](const Style &style) {
    return !(kokkos && style.says_what_is_missing);
  };
  ((wanted(kStyles[K]) ? add_style<K>(lmp, handle, add) : void()), ...);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void lammpsplugin_init(void *lmp, void *handle,
                                                                         void *regfunc)
{
  if (lammps_config_has_package("USER-DPTRAIN"))
    return report(lmp, "WARNING: dptrainplugin.so is not loaded: this LAMMPS has the package "
                       "USER-DPTRAIN inside, whose styles are used. Take its folder out of "
                       "LAMMPS_PLUGIN_PATH, or leave out 'plugin load'");
  const std::string refusal = dptrain::plugin_refusal(compiled_facts(), running_facts(lmp));
  if (!refusal.empty()) return report(lmp, "ERROR: " + refusal);
  add_styles(lmp, handle, reinterpret_cast<lammpsplugin_regfunc>(regfunc),
             std::make_index_sequence<std::size(kStyles)>());
}
