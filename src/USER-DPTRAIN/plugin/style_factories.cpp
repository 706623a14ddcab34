/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// dptrain_styles.so's entry point: how the styles of the package are made. dptrainplugin.cpp tells
// LAMMPS of them.

#include "adapter/lammps_compat.h"

#include "plugin/layout_check.h"
#include "styles/compute_dptrain_charge_atom.h"
#include "styles/compute_dptrain_uncertainty_atom.h"
#include "styles/dptrain_command.h"
#include "styles/dptrain_without_kokkos.h"
#include "styles/fix_dptrain.h"
#include "styles/pair_dptrain.h"

#include "lammps.h"

#include <cstring>
#include <string>

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
  dptrain_factory1 create;
  dptrain_factory2 create_with_arguments;
};

const StyleEntry kStyles[] = {
    {"pair", "dptrain", create<PairDPTrain>, nullptr},
    {"fix", "dptrain", nullptr, create_with_arguments<FixDPTrain>},
    {"compute", "dptrain/charge/atom", nullptr, create_with_arguments<ComputeDPTrainChargeAtom>},
    {"compute", "dptrain/uncertainty/atom", nullptr,
     create_with_arguments<ComputeDPTrainUncertaintyAtom>},
    {"command", "dptrain", create<DPTrainCommand>, nullptr},
    {"pair", "dptrain/kk", create<PairDPTrainWithoutKokkos>, nullptr},
    {"fix", "dptrain/kk", nullptr, create_with_arguments<FixDPTrainWithoutKokkos>},
    {"compute", "dptrain/uncertainty/atom/kk", nullptr,
     create_with_arguments<ComputeDPTrainWithoutKokkos>},
};

/// Why the styles cannot run in this LAMMPS; null where they can.
const char *refusal_of(LAMMPS *lmp)
{
  if (dptrain::pair_layout_fits(lmp)) return nullptr;
  static const std::string text =
      fmt::format("dptrainplugin.so cannot be used with this LAMMPS: it was built for another "
                  "update of the release {}, whose class Pair has another layout. Rebuild dptrain "
                  "with the headers of this LAMMPS (manual, Build_dptrain)",
                  lmp->version);
  return text.c_str();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) dptrain_factory
dptrain_find_style(void *lmp, const char *kind, const char *name, const char **refusal)
{
  dptrain_factory factory;
  factory.v1 = nullptr;
  *refusal = refusal_of(static_cast<LAMMPS *>(lmp));
  if (*refusal) return factory;
  for (const StyleEntry &entry : kStyles) {
    if (std::strcmp(entry.kind, kind) != 0 || std::strcmp(entry.name, name) != 0) continue;
    if (entry.create)
      factory.v1 = entry.create;
    else
      factory.v2 = entry.create_with_arguments;
  }
  return factory;
}
