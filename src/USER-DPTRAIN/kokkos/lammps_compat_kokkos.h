/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// Differences between versions of LAMMPS' KOKKOS package.
#pragma once

#include "kokkos_type.h"

namespace LAMMPS_NS {

// Buffers of the communication on a device. Since 2026 they hold double, whatever precision
// positions have, and the macro that makes the types has this name.
#ifdef KOKKOS_DEVICE_DUALVIEW
using CommBufferKokkos = DAT::tdual_double_1d;
#else
using CommBufferKokkos = DAT::tdual_xfloat_1d;
#endif

}  // namespace LAMMPS_NS
