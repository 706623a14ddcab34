#pragma once

#include <memory>
#include <vector>

#include "dptrain/potential/model/model.h"
#include "kernels/edges.h"
#include "kernels/force_sums.h"

namespace dptrain {

/// A part of the energy beside that of the net, without parameters of the optimizer: a sum over centers of functions of their
/// neighbors, E_i(d_i1, d_i2, ...). As it is the same in all frames of a training, the gradient of a loss does not see it but
/// through the residuals.
template <class Real> class EnergyTerm {
 public:
  virtual ~EnergyTerm() = default;
  virtual void begin_sweep() {}
  /// Of a chunk of centers of one type: adds E_i to energies [centers], eV, and forces and virials to the sums. All pointers in
  /// the memory of the kernels. The edges are those of the descriptor.
  virtual void add(int type, const kernels::Edges<Real> &edges, double *energies,
                   const kernels::ForceSums &sums) = 0;
  /// What it has seen in the sweep.
  virtual void end_sweep(NeighborReport & /*report*/) {}
};

/// The terms of a model, in the order in which they are added.
template <class Real>
std::vector<std::unique_ptr<EnergyTerm<Real>>> make_energy_terms(const ModelData &data);

}  // namespace dptrain
