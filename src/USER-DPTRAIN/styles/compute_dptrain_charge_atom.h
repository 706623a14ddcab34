/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* -*- c++ -*- ----------------------------------------------------------
   compute dptrain/charge/atom: charge of each atom in a potential that has them
------------------------------------------------------------------------- */

#ifdef COMPUTE_CLASS
// clang-format off
ComputeStyle(dptrain/charge/atom,ComputeDPTrainChargeAtom);
// clang-format on
#else

#ifndef LMP_COMPUTE_DPTRAIN_CHARGE_ATOM_H
#define LMP_COMPUTE_DPTRAIN_CHARGE_ATOM_H

#include "compute.h"

namespace LAMMPS_NS {

class ComputeDPTrainChargeAtom : public Compute {
 public:
  ComputeDPTrainChargeAtom(class LAMMPS *, int, char **);
  ~ComputeDPTrainChargeAtom() override;
  void init() override;
  void compute_peratom() override;
  double memory_usage() override;

 private:
  class PairDPTrain *pair_ = nullptr;
  int nmax_ = 0;
};

}  // namespace LAMMPS_NS

#endif
#endif
