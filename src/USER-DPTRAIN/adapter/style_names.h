/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

/// Names with which messages of the styles begin.
inline constexpr char FIX_STYLE[] = "Fix dptrain";
inline constexpr char PAIR_STYLE[] = "Pair style dptrain";
