/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "kokkos/compute_dptrain_uncertainty_atom_kokkos.h"

#include "atom_masks.h"
#include "kokkos/kokkos_atoms.h"

using namespace LAMMPS_NS;

template <class DeviceType>
ComputeDPTrainUncertaintyAtomKokkos<DeviceType>::ComputeDPTrainUncertaintyAtomKokkos(LAMMPS *lmp,
                                                                                     int narg,
                                                                                     char **arg) :
    ComputeDPTrainUncertaintyAtom(lmp, narg, arg)
{
  kokkosable = 1;
  atomKK = kokkos_atoms(lmp, "Compute dptrain/uncertainty/atom");
  execution_space = Host;
  datamask_read = EMPTY_MASK;
  datamask_modify = EMPTY_MASK;
}

template <class DeviceType> void ComputeDPTrainUncertaintyAtomKokkos<DeviceType>::compute_peratom()
{
  atomKK->sync(Host, MASK_MASK);  // which atoms are in the group
  ComputeDPTrainUncertaintyAtom::compute_peratom();
}

namespace LAMMPS_NS {
template class ComputeDPTrainUncertaintyAtomKokkos<LMPDeviceType>;
#ifdef LMP_KOKKOS_GPU
template class ComputeDPTrainUncertaintyAtomKokkos<LMPHostType>;
#endif
}  // namespace LAMMPS_NS
