/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* -*- c++ -*- ----------------------------------------------------------
   pair_style dptrain/kk: the model on the arrays of the KOKKOS package
------------------------------------------------------------------------- */

#ifdef PAIR_CLASS
// clang-format off
PairStyle(dptrain/kk,PairDPTrainKokkos<LMPDeviceType>);
PairStyle(dptrain/kk/device,PairDPTrainKokkos<LMPDeviceType>);
PairStyle(dptrain/kk/host,PairDPTrainKokkos<LMPHostType>);
// clang-format on
#else

#ifndef LMP_PAIR_DPTRAIN_KOKKOS_H
#define LMP_PAIR_DPTRAIN_KOKKOS_H

#include "kokkos/lammps_compat_kokkos.h"
#include "kokkos_base.h"
#include "styles/pair_dptrain.h"

namespace LAMMPS_NS {

/// Positions, types, neighbor lists and forces of KOKKOS are used where they are: nothing is
/// copied, and nothing searched again.
template <class DeviceType> class PairDPTrainKokkos : public PairDPTrain, public KokkosBase {
 public:
  PairDPTrainKokkos(class LAMMPS *);
  void compute(int, int) override;
  void init_style() override;
  double memory_usage() override;
  int pack_reverse_comm(int, int, double *) override;
  void unpack_reverse_comm(int, int *, double *) override;
  int pack_reverse_comm_kokkos(int, int, CommBufferKokkos &) override;
  void unpack_reverse_comm_kokkos(int, DAT::tdual_int_1d, CommBufferKokkos &) override;

 private:
  using Numbers = Kokkos::View<double *, DeviceType>;
  using Integers = Kokkos::View<int *, DeviceType>;

  Numbers results_[NUM_RESULTS];
  std::size_t sizes_[NUM_RESULTS] = {};
  Numbers x_;  // [nall][3] Angstrom, only where LAMMPS has other numbers
  Integers type_;
  Integers model_type_;  // by type of LAMMPS

  dptrain::Domain atoms() override;
  double *clear_result(Result, std::size_t) override;
  const double *host_result(Result) override;
  void add_forces(int) override;
  void host_atoms() override;
  bool searches_neighbors() const override;
  bool reads_lists() const override { return true; }

  const double *positions(int nall);
  const int *model_types(int nall);
  void copy_map(const std::vector<int> &);
  void check_model() const;
};

}  // namespace LAMMPS_NS

#endif
#endif
