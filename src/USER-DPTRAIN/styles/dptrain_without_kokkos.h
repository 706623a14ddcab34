/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* -*- c++ -*- ----------------------------------------------------------
   names of styles for the KOKKOS package in a LAMMPS without it: they say what is missing
------------------------------------------------------------------------- */

// clang-format off
#ifdef PAIR_CLASS
PairStyle(dptrain/kk,PairDPTrainWithoutKokkos);
#elif defined(FIX_CLASS)
FixStyle(dptrain/kk,FixDPTrainWithoutKokkos);
#elif defined(COMPUTE_CLASS)
ComputeStyle(dptrain/uncertainty/atom/kk,ComputeDPTrainWithoutKokkos);
#else
// clang-format on

#ifndef LMP_DPTRAIN_WITHOUT_KOKKOS_H
#define LMP_DPTRAIN_WITHOUT_KOKKOS_H

#include "compute.h"
#include "fix.h"
#include "pair.h"

namespace LAMMPS_NS {

class PairDPTrainWithoutKokkos : public Pair {
 public:
  PairDPTrainWithoutKokkos(class LAMMPS *);
  void compute(int, int) override {}
  void settings(int, char **) override {}
  void coeff(int, char **) override {}
};

class FixDPTrainWithoutKokkos : public Fix {
 public:
  FixDPTrainWithoutKokkos(class LAMMPS *, int, char **);
  int setmask() override { return 0; }
};

class ComputeDPTrainWithoutKokkos : public Compute {
 public:
  ComputeDPTrainWithoutKokkos(class LAMMPS *, int, char **);
  void init() override {}
};

}  // namespace LAMMPS_NS

#endif
#endif
