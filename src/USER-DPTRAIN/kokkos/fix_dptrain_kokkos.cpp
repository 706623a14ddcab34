#include "kokkos/fix_dptrain_kokkos.h"

#include "atom_masks.h"
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
  on_host_ = true;
}

template <class DeviceType> void FixDPTrainKokkos<DeviceType>::give_back()
{
  if (on_host_) atomKK->modified(Host, F_MASK);
  on_host_ = false;
}

namespace LAMMPS_NS {
template class FixDPTrainKokkos<LMPDeviceType>;
#ifdef LMP_KOKKOS_GPU
template class FixDPTrainKokkos<LMPHostType>;
#endif
}  // namespace LAMMPS_NS
