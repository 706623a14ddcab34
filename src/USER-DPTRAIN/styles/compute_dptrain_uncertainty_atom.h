/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* -*- c++ -*- ----------------------------------------------------------
   compute dptrain/uncertainty/atom: error bar of the force of each atom
------------------------------------------------------------------------- */

#ifdef COMPUTE_CLASS
// clang-format off
ComputeStyle(dptrain/uncertainty/atom,ComputeDPTrainUncertaintyAtom);
// clang-format on
#else

#ifndef LMP_COMPUTE_DPTRAIN_UNCERTAINTY_ATOM_H
#define LMP_COMPUTE_DPTRAIN_UNCERTAINTY_ATOM_H

#include "compute.h"

namespace LAMMPS_NS {

class ComputeDPTrainUncertaintyAtom : public Compute {
 public:
  ComputeDPTrainUncertaintyAtom(class LAMMPS *, int, char **);
  ~ComputeDPTrainUncertaintyAtom() override;
  void init() override;
  void compute_peratom() override;
  double memory_usage() override;
  /// Whether its values are error bars; else deviations of a committee.
  bool reads_bars() const { return !committee_; }

 private:
  class PairDPTrain *pair_;
  int nmax_;
  bool committee_;  // deviation of the committee's forces
};

}  // namespace LAMMPS_NS

#endif
#endif
