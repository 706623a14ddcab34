/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <string>

#include "atom_kokkos.h"
#include "error.h"
#include "lammps.h"

namespace LAMMPS_NS {

/// The atoms of a run with KOKKOS; error for another run. `plain`: the style without /kk.
inline AtomKokkos *kokkos_atoms(LAMMPS *lmp, const std::string &plain)
{
  auto *atoms = dynamic_cast<AtomKokkos *>(lmp->atom);
  if (!atoms)
    lmp->error->all(FLERR,
                    "{}/kk: KOKKOS is not in use: start LAMMPS with -k on, or use the plain style",
                    plain);
  return atoms;
}

}  // namespace LAMMPS_NS
