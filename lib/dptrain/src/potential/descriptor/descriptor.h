#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "dptrain/potential/model/walls.h"
#include "kernels/force_sums.h"
#include "potential/descriptor/edge_chunk.h"
#include "potential/descriptor/edge_finder.h"

namespace dptrain {

/// The direction of a tangent, in the memory of the kernels: edges change by r_j - r_i + C d. Their tangent of the energy is
/// minus sum_k r_k . F_k + C : W.
struct Direction {
  const double *residuals = nullptr;  ///< r [atoms][3], or null
  const double *strains = nullptr;    ///< C [frames][9]
  int atoms = 0, frames = 0;
};

/// A chunk of centers of one type, as a descriptor sees it: the edges, and in a class of its own what it keeps from one of its
/// functions for the next.
template <class Real> struct DescriptorState {
  int type = 0;  ///< of the centers
  const EdgeChunk<Real> *edges = nullptr;
  virtual ~DescriptorState() = default;
  virtual std::size_t memory_bytes() const { return 0; }
};

/// What of a descriptor does not depend on the precision.
class DescriptorBase {
 public:
  virtual ~DescriptorBase() = default;
  virtual EdgeLimits edge_limits() const = 0;
  /// About what its arrays for a center take in training.
  virtual std::size_t bytes_per_center() const = 0;

  /// New parameters: those of the descriptor in float64, in the memory of the kernels, where they stay until the next
  /// call. Makes tables.
  virtual void prepare(const double *parameters) = 0;
  /// After it, now and then: are the tables good enough? Improves them.
  virtual void check_tables() {}
  /// What its kernels are given by value and may change.
  virtual std::vector<double> arguments() const { return {}; }
  /// Numbers that a bit-identical continuation needs beside the parameters (the grid of a table). They are set before prepare().
  virtual std::vector<double> auxiliary_state() const { return {}; }
  virtual void set_auxiliary_state(const std::vector<double> & /*state*/) {}

  /// Whether the tables cover neighbors as close as this (Angstrom).
  enum class Coverage {
    covered,   ///< both passes are right
    extended,  ///< the tables were extended: compute again
    exact      ///< the nets have to be evaluated at every edge (is_direct)
  };
  virtual Coverage coverage(double /*distance*/) { return Coverage::covered; }
  /// Neighbors as close as this are coming: the same, ahead of time. True if something was extended.
  virtual bool expect_distance(double /*distance*/) { return false; }
  /// Whether all sweeps have to be direct: at every edge all is computed that a table has otherwise.
  virtual bool is_direct() const { return false; }
  /// Memory that a direct sweep needs for a slot of a chunk.
  virtual std::size_t bytes_per_direct_slot() const { return 1; }
  /// As PotentialEngine's function of this name.
  virtual void use_device_algorithms(bool /*on*/) {}

  /// The descriptor may take neighbors that are deep inside of their wall for such that stand near its beginning.
  virtual void set_walls(const Walls & /*walls*/) {}

  virtual std::size_t table_bytes() const { return 0; }
  virtual std::size_t workspace_bytes() const { return 0; }
  /// Gives back what is filled before it is read.
  virtual void release_workspace() {}
};

/// What describes the neighborhood of a center by numbers D, of which the fitting net makes its energy: value, forces and
/// parameter gradient over chunks of centers. All pointers in the memory of the kernels. The parameters are the first ones of
/// the flat array, so that a pointer to it is one to them.
///
/// Of a chunk, pass A calls value and reverse; pass B jvp and gradient, with the state of pass A or after the same again.
template <class Real> class Descriptor : public DescriptorBase {
 public:
  using State = DescriptorState<Real>;

  virtual std::unique_ptr<State> make_state() const = 0;
  /// Pass A over chunks.
  virtual void begin_sweep(bool /*direct*/) {}
  /// D [centers][DescriptorConfig::size] from the edges of the state, which were found before.
  virtual void value(State &state, Real *d) = 0;
  /// Forces and virials from g_d = dE/dD. Without sums, what `gradient` needs of g_d alone.
  virtual void reverse(State &state, const Real *g_d, const kernels::ForceSums *sums) = 0;

  /// Pass B over chunks, some of which may come from pass A. With v the direction, S = c E - E_dot(v): adds dS/dparameters
  /// to `gradient` (float64, of its own parameters), at the latest when the sweep ends.
  virtual void begin_gradient(bool direct, double *gradient) = 0;
  /// The tangent of D.
  virtual void jvp(State &state, const Direction &direction, Real *d_dot) = 0;
  /// From s_d = dS/dD and e_d = dE/dD = -dS/dD_dot, after jvp of the same direction.
  virtual void gradient(State &state, const Direction &direction, const Real *s_d,
                        const Real *e_d) = 0;
  /// Called every few thousand centers: float32 sums over more would lose digits.
  virtual void flush_gradient() {}
  virtual void end_gradient() = 0;
};

}  // namespace dptrain
