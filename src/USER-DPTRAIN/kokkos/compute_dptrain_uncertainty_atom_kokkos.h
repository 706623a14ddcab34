/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* -*- c++ -*- ----------------------------------------------------------
   compute dptrain/uncertainty/atom/kk: beside pair_style dptrain/kk
------------------------------------------------------------------------- */

#ifdef COMPUTE_CLASS
// clang-format off
ComputeStyle(dptrain/uncertainty/atom/kk,ComputeDPTrainUncertaintyAtomKokkos<LMPDeviceType>);
ComputeStyle(dptrain/uncertainty/atom/kk/device,ComputeDPTrainUncertaintyAtomKokkos<LMPDeviceType>);
ComputeStyle(dptrain/uncertainty/atom/kk/host,ComputeDPTrainUncertaintyAtomKokkos<LMPHostType>);
// clang-format on
#else

#ifndef LMP_COMPUTE_DPTRAIN_UNCERTAINTY_ATOM_KOKKOS_H
#define LMP_COMPUTE_DPTRAIN_UNCERTAINTY_ATOM_KOKKOS_H

#include "kokkos_type.h"
#include "styles/compute_dptrain_uncertainty_atom.h"

namespace LAMMPS_NS {

/// The values come to the host where a dump, a fix or a variable asks for them, and nothing else
/// does.
template <class DeviceType>
class ComputeDPTrainUncertaintyAtomKokkos : public ComputeDPTrainUncertaintyAtom {
 public:
  ComputeDPTrainUncertaintyAtomKokkos(class LAMMPS *, int, char **);
  void compute_peratom() override;
};

}  // namespace LAMMPS_NS

#endif
#endif
