// The styles of the package, and their registration with LAMMPS. A new style is one line of the table.

#include "adapter/lammps_compat.h"

#include "plugin/layout_check.h"
#include "styles/compute_dptrain_uncertainty_atom.h"
#include "styles/dptrain_command.h"
#include "styles/fix_dptrain.h"
#include "styles/pair_dptrain.h"

#include "comm.h"
#include "lammps.h"

#include <cstdio>

using namespace LAMMPS_NS;

namespace {

template <class Style> void *create(void *lmp)
{
  return new Style(static_cast<LAMMPS *>(lmp));
}

template <class Style> void *create_with_arguments(void *lmp, int narg, char **arg)
{
  return new Style(static_cast<LAMMPS *>(lmp), narg, arg);
}

/// Exactly one of the two factories is given: which one, LAMMPS prescribes for each kind of style.
struct StyleEntry {
  const char *kind;
  const char *name;
  const char *info;
  dptrain_factory1 create;
  dptrain_factory2 create_with_arguments;
};

const StyleEntry kStyles[] = {
    {"pair", "dptrain", "deep potential", create<PairDPTrain>, nullptr},
    {"fix", "dptrain", "trains the deep potential on reference labels", nullptr,
     create_with_arguments<FixDPTrain>},
    {"compute", "dptrain/uncertainty/atom", "expected force error of each atom", nullptr,
     create_with_arguments<ComputeDPTrainUncertaintyAtom>},
    {"command", "dptrain", "trainings, tests and statistics from data sets", create<DPTrainCommand>,
     nullptr},
};

}  // namespace

extern "C" __attribute__((visibility("default"))) void
dptrain_register_styles(void *lmp, void *handle, void *regfunc)
{
  auto register_style = reinterpret_cast<lammpsplugin_regfunc>(regfunc);
  auto *lammps = static_cast<LAMMPS *>(lmp);
  if (!dptrain::pair_layout_fits(lammps)) {
    if (lammps->comm->me == 0)
      std::fprintf(stderr,
                   "ERROR: dptrainplugin.so cannot be used with this LAMMPS: it was built for "
                   "another update of the release %s, whose class Pair has another layout. Rebuild "
                   "dptrain with the headers of this LAMMPS (README.md, section Install)\n",
                   lammps->version);
    return;
  }
  for (const StyleEntry &entry : kStyles) {
    lammpsplugin_t plugin;
    // LAMMPS warns about a text that differs from its own; the guard has compared the versions already
    plugin.version = static_cast<LAMMPS *>(lmp)->version;
    plugin.style = entry.kind;
    plugin.name = entry.name;
    plugin.info = entry.info;
    plugin.author = "USER-DPTRAIN " DPTRAIN_VERSION;
    if (entry.create)
      plugin.creator.v1 = entry.create;
    else
      plugin.creator.v2 = entry.create_with_arguments;
    plugin.handle = handle;
    register_style(&plugin, lmp);
  }
}
