/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* -*- c++ -*- ----------------------------------------------------------
   command dptrain: trainings, tests and statistics from data sets
------------------------------------------------------------------------- */

#ifdef COMMAND_CLASS
// clang-format off
CommandStyle(dptrain,DPTrainCommand);
// clang-format on
#else

#ifndef LMP_DPTRAIN_COMMAND_H
#define LMP_DPTRAIN_COMMAND_H

#include "command.h"

namespace LAMMPS_NS {

class DPTrainCommand : public Command {
 public:
  explicit DPTrainCommand(class LAMMPS *lmp) : Command(lmp) {}
  void command(int, char **) override;
};

}  // namespace LAMMPS_NS

#endif
#endif
