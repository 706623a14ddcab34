#pragma once

#include <vector>

#include "dptrain/session/trajectory.h"
#include "pointers.h"
#include "styles/force_override.h"

namespace LAMMPS_NS {

/// This LAMMPS run as a learning session sees it.
class RunTrajectory : public dptrain::Trajectory {
 public:
  /// `pair`: the style that runs the model; null: labels are only collected from the run. `use_host_atoms` is called before
  /// arrays of the atoms are read or changed.
  RunTrajectory(LAMMPS *lmp, PairDPTrain *pair, const ModelSlot &slot, ForceOverride &forces,
                FoldGhosts fold, std::function<void()> use_host_atoms);

  std::int64_t step() const override;
  std::int64_t last_step() const override;
  std::int64_t natoms() const override;
  bool has_scores() const override;
  std::vector<double> scores() const override;
  std::vector<double> all_scores() override;
  std::vector<double> feature_sum() const override;
  double energy() const override;
  std::vector<double> forces() override;
  dptrain::WholeFrame configuration() override;
  void evaluate_again() override;
  void follow_model() override;
  void follow(const dptrain::Label &label) override;

 private:
  LAMMPS *lmp_;
  PairDPTrain *pair_;
  const ModelSlot &slot_;
  ForceOverride &forces_;
  FoldGhosts fold_;
  std::function<void()> use_host_atoms_;
  UnitFactors units_;
  std::vector<tagint> tags_;  // of the atoms of the latest configuration(), ascending
};

}  // namespace LAMMPS_NS
