/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "styles/dptrain_without_kokkos.h"

#include <string>

#include "error.h"

using namespace LAMMPS_NS;

// `plain`: the style without /kk.
[[noreturn]] static void stop(Error *error, const std::string &plain)
{
  error->all(
      FLERR,
      "{}/kk needs a LAMMPS with the KOKKOS package that was built with USER-DPTRAIN in its tree "
      "(tools/build-in-tree SOURCE -D PKG_KOKKOS=on ...); this one has none: use the plain style",
      plain);
}

PairDPTrainWithoutKokkos::PairDPTrainWithoutKokkos(LAMMPS *lmp) : Pair(lmp)
{
  stop(error, "Pair style dptrain");
}

FixDPTrainWithoutKokkos::FixDPTrainWithoutKokkos(LAMMPS *lmp, int narg, char **arg) :
    Fix(lmp, narg, arg)
{
  stop(error, "Fix dptrain");
}

ComputeDPTrainWithoutKokkos::ComputeDPTrainWithoutKokkos(LAMMPS *lmp, int narg, char **arg) :
    Compute(lmp, narg, arg)
{
  stop(error, "Compute dptrain/uncertainty/atom");
}
