/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "adapter/dptrain_adapter.h"
#include "dptrain/session/recovery/state_history.h"
#include "dptrain/session/trajectory.h"
#include "pointers.h"
#include "styles/run_state.h"

namespace LAMMPS_NS {

class PairDPTrain;

/// The states that a run can go back to, and the way back, for `rewind` of fix dptrain. Its
/// functions are called at the hooks of a step whose names they have.
class Rewind : protected Pointers {
 public:
  /// `pair`: the style that runs the model. `seed`: of what is random after a return.
  Rewind(LAMMPS *lmp, PairDPTrain &pair, const UnitFactors &units, std::uint64_t seed);

  /// A run begins: states of the run before are forgotten. Error where something in the run could
  /// not go back.
  void init();
  /// What makes it impossible to go on from here; empty: nothing. Collective.
  std::string post_integrate();
  /// Puts the state that was chosen in the place of the present one. Collective.
  void pre_exchange();
  /// Keeps the state of this step where its turn has come. Collective.
  void pre_force();
  /// Whether a state has been chosen and LAMMPS has to make new neighbor lists for it.
  bool is_pending() const { return pending_.has_value(); }

  // what dptrain::Trajectory says of it
  const dptrain::RunCondition &condition() const { return condition_; }
  void trust();
  std::optional<std::int64_t> go_back(std::int64_t before, int number);

 private:
  using StatePtr = std::shared_ptr<const RunState>;
  struct Pending {
    StatePtr state;
    int number;  // of the return
  };
  void stir(int number);

  PairDPTrain &pair_;
  UnitFactors units_;
  std::uint64_t seed_;
  bigint natoms_ = 0;  // of the run
  dptrain::StateHistory<StatePtr> history_;
  StatePtr candidate_;  // the state of this step, if it turns out to be a good one
  std::optional<Pending> pending_;
  dptrain::RunCondition condition_;
  bool told_ = false;  // of fixes whose memory does not go back
};

}  // namespace LAMMPS_NS
