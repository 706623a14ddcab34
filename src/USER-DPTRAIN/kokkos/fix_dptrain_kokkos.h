/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* -*- c++ -*- ----------------------------------------------------------
   fix dptrain/kk: fix dptrain beside styles of the KOKKOS package
------------------------------------------------------------------------- */

#ifdef FIX_CLASS
// clang-format off
FixStyle(dptrain/kk,FixDPTrainKokkos<LMPDeviceType>);
FixStyle(dptrain/kk/device,FixDPTrainKokkos<LMPDeviceType>);
FixStyle(dptrain/kk/host,FixDPTrainKokkos<LMPHostType>);
// clang-format on
#else

#ifndef LMP_FIX_DPTRAIN_KOKKOS_H
#define LMP_FIX_DPTRAIN_KOKKOS_H

#include "kokkos_type.h"
#include "styles/fix_dptrain.h"

namespace LAMMPS_NS {

/// Atoms come to the host at the steps at which a label is asked, and forces go back where
/// they were replaced; at all other steps no array of LAMMPS moves.
template <class DeviceType> class FixDPTrainKokkos : public FixDPTrain {
 public:
  FixDPTrainKokkos(class LAMMPS *, int, char **);
  void init() override;
  void post_force(int) override;
  void min_post_force(int) override;

 private:
  int auto_sync_before_ = 0;  // of LAMMPS, outside of the steps of a label
  bool on_host_ = false;  // the arrays of the host are the present ones, and may have been changed

  void use_host_atoms() override;
  void give_back();
};

}  // namespace LAMMPS_NS

#endif
#endif
