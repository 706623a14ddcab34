#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "dptrain/potential/model/model.h"
#include "kernels/force_sums.h"
#include "potential/descriptor/descriptor.h"
#include "potential/descriptor/edge_chunk.h"
#include "potential/descriptor/edge_finder.h"

namespace dptrain {

/// A part of the energy: a sum over centers of functions of their neighbors, E_i(d_i1, d_i2, ...). The net is one, pair potentials
/// are others. A term works on chunks of centers of one type, whose edges are found for it. All pointers in the memory of the
/// kernels.
///
/// Of a chunk, pass A calls value and reverse; pass B, for terms with parameters, gradient, with the state of pass A or after the
/// same again. On a device what they launch is recorded and repeated (kernels/graph.h), unless they copy from or to the host: what
/// changes, such as parameters, their kernels read from memory.
template <class Real> class EnergyTerm {
 public:
  /// What a term keeps of a chunk from one of its functions for the next.
  struct State {
    virtual ~State() = default;
    virtual std::size_t memory_bytes() const { return 0; }
  };

  virtual ~EnergyTerm() = default;
  /// Which neighbors it sees; nothing: those of the first term.
  virtual std::optional<EdgeLimits> edge_limits() const = 0;
  virtual std::unique_ptr<State> make_state() const = 0;
  /// About what its arrays for a center take in training.
  virtual std::size_t bytes_per_center() const { return 0; }

  /// Whether there is a parameter gradient.
  virtual bool has_parameters() const { return false; }
  /// New parameters: the flat array of the model, float64, where it stays until the next call.
  virtual void prepare(const double * /*parameters*/) {}

  virtual void begin_sweep() {}
  /// Adds E_i to energies [centers], eV; null: they are not wanted. Without neighbors E_i is zero but for the net. `train`: what
  /// `gradient` needs is kept.
  virtual void value(int type, const EdgeChunk<Real> &edges, bool train, State &state,
                     double *energies) = 0;
  /// Adds forces and virials of sum_i seeds_i E_i; seeds [centers], null: ones, as `gradient` needs them. Without sums, what
  /// `gradient` needs alone.
  virtual void reverse(int type, const EdgeChunk<Real> &edges, const Real *seeds, State &state,
                       const kernels::ForceSums *sums) = 0;
  /// What it has seen in the sweep.
  virtual void end_sweep(NeighborReport & /*report*/) {}

  /// Pass B over chunks. With v the direction, S = sum_i c_i E_i - E_dot(v): adds dS/dparameters to `gradient`, which is laid
  /// out as the parameters, at the latest when the sweep ends.
  virtual void begin_gradient(double * /*gradient*/) {}
  virtual void gradient(int /*type*/, const EdgeChunk<Real> & /*edges*/, const Real * /*c*/,
                        const Direction & /*direction*/, State & /*state*/)
  {
  }
  /// Called every few thousand centers: float32 sums over more would lose digits.
  virtual void flush_gradient() {}
  virtual void end_gradient() {}

  virtual std::size_t workspace_bytes() const { return 0; }
  /// Gives back what is filled before it is read.
  virtual void release_workspace() {}
};

}  // namespace dptrain
