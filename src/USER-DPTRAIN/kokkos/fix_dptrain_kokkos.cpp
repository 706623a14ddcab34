/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#include "kokkos/fix_dptrain_kokkos.h"

#include "atom_masks.h"
#include "domain.h"
#include "kokkos.h"
#include "kokkos/kokkos_atoms.h"

using namespace LAMMPS_NS;

template <class DeviceType>
FixDPTrainKokkos<DeviceType>::FixDPTrainKokkos(LAMMPS *lmp, int narg, char **arg) :
    FixDPTrain(lmp, narg, arg)
{
  kokkosable = 1;
  atomKK = kokkos_atoms(lmp, "Fix dptrain");
  execution_space = Host;
  datamask_read = EMPTY_MASK;
  datamask_modify = EMPTY_MASK;
}

// A run before may have ended with an error amid a label.
template <class DeviceType> void FixDPTrainKokkos<DeviceType>::init()
{
  give_back();
  FixDPTrain::init();
}

template <class DeviceType> void FixDPTrainKokkos<DeviceType>::post_force(int vflag)
{
  FixDPTrain::post_force(vflag);
  give_back();
}

template <class DeviceType> void FixDPTrainKokkos<DeviceType>::min_post_force(int vflag)
{
  FixDPTrain::min_post_force(vflag);
  give_back();
}

template <class DeviceType> void FixDPTrainKokkos<DeviceType>::use_host_atoms()
{
  if (on_host_) return;
  atomKK->sync(Host, ALL_MASK);
  // what a reference calls in LAMMPS, such as Domain::x2lamda of pppm, may work on the device: it
  // takes the host's arrays then and brings its own back, as around fixes without KOKKOS
  auto_sync_before_ = lmp->kokkos->auto_sync;
  lmp->kokkos->auto_sync = 1;
  on_host_ = true;
}

template <class DeviceType> void FixDPTrainKokkos<DeviceType>::give_back()
{
  if (!on_host_) return;
  lmp->kokkos->auto_sync = auto_sync_before_;
  // positions went to lamda and back on the device, and were put back to the last digit on the host
  atomKK->modified(Host, domain->triclinic ? F_MASK | X_MASK : F_MASK);
  on_host_ = false;
}

namespace LAMMPS_NS {
template class FixDPTrainKokkos<LMPDeviceType>;
#ifdef LMP_KOKKOS_GPU
template class FixDPTrainKokkos<LMPHostType>;
#endif
}  // namespace LAMMPS_NS
