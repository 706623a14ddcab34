/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

namespace LAMMPS_NS {
class LAMMPS;
}

namespace dptrain {

/// Whether this LAMMPS lays out class Pair as the headers do that the styles were compiled with.
/// Updates of one release have the same version number, and some move members: of 22 Jul 2025,
/// update 4 against update 2. A style of the wrong layout would crash at its first use.
bool pair_layout_fits(LAMMPS_NS::LAMMPS *lmp);

}  // namespace dptrain
