#pragma once

#include <vector>

#include "dptrain/potential/model/model_data.h"
#include "kernels/memory.h"
#include "kernels/walls.h"
#include "potential/terms/pair_term.h"

namespace dptrain {

/// The Walls of a model.
template <class Real> class WallTerm final : public PairTerm<Real> {
 public:
  explicit WallTerm(const ModelData &data);
  /// Those of the net: pairs that are excluded have no wall.
  std::optional<EdgeLimits> edge_limits() const override { return std::nullopt; }
  void begin_sweep() override;
  void end_sweep(NeighborReport &report) override;

 private:
  void add_pairs(int type, const kernels::Edges<Real> &edges, const Real *reach_squared,
                 double *energies, const kernels::PairSlopes &slopes) override;

  const PairDistances begin_;
  kernels::Array<kernels::Wall> walls_;         // [ntypes][ntypes]
  kernels::Array<kernels::Closeness> closest_;  // by worker
  std::vector<kernels::Closeness> host_closest_;
};

}  // namespace dptrain
