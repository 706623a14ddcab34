/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

namespace LAMMPS_NS {

/// Whether a fix of a Monte Carlo method (gcmc, widom, atom/swap, ...) asks for the energy of a
/// configuration that it tries, or may still undo: these fixes call pair styles and other fixes in
/// the middle of a time step.
bool is_trial_move(const class LAMMPS *);

}  // namespace LAMMPS_NS
