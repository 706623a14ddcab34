/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <optional>
#include <vector>

#include "dptrain/session/trajectory.h"
#include "pointers.h"
#include "styles/force_override.h"

namespace LAMMPS_NS {

class Rewind;

/// This LAMMPS run as a learning session sees it.
class RunTrajectory : public dptrain::Trajectory {
 public:
  /// `pair`: the style that runs the model; null: labels are only collected from the run.
  /// `use_host_atoms` is called before arrays of the atoms are read or changed.
  RunTrajectory(LAMMPS *lmp, PairDPTrain *pair, const ModelInUse &slot, ForceOverride &forces,
                FoldGhosts fold, std::function<void()> use_host_atoms);

  std::int64_t step() const override;
  std::int64_t last_step() const override;
  std::int64_t natoms() const override;
  bool has_bars() const override;
  std::vector<double> bars() const override;
  std::vector<double> all_bars() override;
  std::vector<double> feature_sum() const override;
  double energy() const override;
  std::vector<double> forces() override;
  dptrain::WholeFrame configuration() override;
  void evaluate_again() override;
  void follow_model() override;
  void follow(const dptrain::Label &label) override;

  /// What keeps its states, where it may go back to them.
  void set_rewind(Rewind *rewind) { rewind_ = rewind; }
  dptrain::RunCondition condition() const override;
  void trust() override;
  std::optional<std::int64_t> go_back(std::int64_t before, int number) override;

 private:
  LAMMPS *lmp_;
  PairDPTrain *pair_;
  const ModelInUse &slot_;
  ForceOverride &forces_;
  FoldGhosts fold_;
  std::function<void()> use_host_atoms_;
  UnitFactors units_;
  Rewind *rewind_ = nullptr;
  std::vector<tagint> tags_;  // of the atoms of the latest configuration(), ascending
};

}  // namespace LAMMPS_NS
