/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

// What fix dptrain keeps between its functions, for the files that implement it. Its own header is
// read by LAMMPS and stays free of the library's types.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "adapter/dptrain_adapter.h"
#include "dptrain/session/run/learning_session.h"
#include "reference/make_reference.h"
#include "reference/reference_difference.h"
#include "styles/exclusions.h"
#include "styles/fix_dptrain.h"
#include "styles/fix_dptrain_options.h"
#include "styles/pair_dptrain.h"
#include "styles/rewind.h"
#include "styles/run_trajectory.h"

namespace LAMMPS_NS {

struct FixDPTrain::Data {
  static constexpr int RESTART_SIZE = 4;

  FixDPTrainOptions options;
  UnitFactors units;
  std::shared_ptr<const dptrain::Communicator> comm;
  std::shared_ptr<ModelInUse> slot;
  PairDPTrain *pair =
      nullptr;  // the pair style that runs the model; null: labels alone are collected
  std::unique_ptr<Reference> asked;                 // of the keyword `reference`
  std::unique_ptr<ReferenceDifference> difference;  // of it and the baseline of the potential
  FoldGhosts fold;
  std::unique_ptr<ForceOverride> forces;
  std::unique_ptr<RunTrajectory> run;
  std::unique_ptr<Rewind> rewind;  // where the run may go back
  std::unique_ptr<dptrain::LearningSession> session;
  std::unique_ptr<Exclusions> exclusions;
  bool moved = false;    // the step has moved the atoms, and LAMMPS has not made new lists for it
  bool may_try = false;  // other fixes may ask for energies before it does
  std::vector<dptrain::Baseline> baseline;  // of the potential
  std::map<std::string, double> atoms;      // eV, energies of separate atoms that were asked for
  double *folded = nullptr;                 // array of the reverse communication in progress
  double restarted[RESTART_SIZE] = {};

  // Where labels come from; null: a run that only selects configurations.
  Reference *reference() { return difference ? difference.get() : asked.get(); }
  dptrain::LabelSource *source() { return reference() ? &reference()->source() : nullptr; }
  // The step at which the reference may be asked next.
  bigint next_request(bigint step) const
  {
    return options.learning.active ? step + 1
                                   : (step / options.learning.every + 1) * options.learning.every;
  }
};

}  // namespace LAMMPS_NS
