/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* ----------------------------------------------------------------------
   Outputs: scalar = loss of the last optimizer step; vector, all intensive, available at every step:
     1 frames stored          2 reference calls        3 rmse of energy, energy/atom   4 rmse of force, force units
     5 rmse of virial, energy/atom                     6 learning rate                 7 optimizer steps
     8 seconds of training    9 seconds of reference  10 memory of model and training, MB (largest rank)
    11 labels discarded      12 atoms seen with more neighbors of a type than sel keeps
   Errors 3-5 are those of the last batch, before its step.
   and with mode active, errors as the largest length of an atom's force error, in force units:
    13 expected at this step           14 threshold                 15 1: the model moves the atoms, 0: the reference
    16 rmse of force, held-out frames  17 audits                    18 audits with an error above the threshold
    19 sum of the jumps of the potential energy, energy units       20 found at the latest answer of the reference
    21 distance of the structure from what was learned
   and the memory at the latest label, MB, of the rank that has most:
    22 frames, neighbors and halo      23 optimizer and average     24 tables
    25 workspace, residuals, gradient  26 process now               27 process at most
    28 how often memory has run out, all ranks
    29 configurations with the reference while the run goes on (mode active)
    30 how often the run has gone back to a trusted state (rewind)
   While the reference drives the run, the energy and virial of the pair style in thermo output are the reference's.
------------------------------------------------------------------------- */

#include "styles/fix_dptrain_output.h"

using namespace LAMMPS_NS;

static constexpr int DISTANCE = 20;
static constexpr double MIB = 1048576.0;

double LAMMPS_NS::fix_dptrain_output(int n, const dptrain::LearningSession &session,
                                     const RunTrajectory &run, const UnitFactors &units)
{
  if (n == DISTANCE) return session.distance(run);
  const dptrain::LearningReport report = session.report();
  const double energy = units.energy, force = units.force();
  const dptrain::UpdateReport &batch = report.batch;
  const auto rmse = [&](const char *term) { return batch.step > 0 ? batch.rmse(term) : 0.0; };
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };
  const auto memory = [&](const char *purpose) { return session.largest_memory(purpose) / MIB; };
  const double values[NUM_FIX_OUTPUTS] = {
      count(report.frames),
      count(report.reference_calls),
      rmse("e") * energy,
      rmse("f") * force,
      rmse("v") * energy,
      batch.learning_rate,
      count(report.steps),
      report.train_seconds,
      report.reference_seconds,
      memory(nullptr),
      count(report.discarded),
      count(report.overflow),
      report.expected_error * force,
      report.threshold * force,
      report.model_moves ? 1.0 : 0.0,
      report.held_out_error * force,
      count(report.audits),
      count(report.audits_above),
      report.energy_jumps * energy,
      report.found_error * force,
      0.0,
      memory("frames") + memory("neighbor rows") + memory("halo"),
      memory("optimizer") + memory("average"),
      memory("tables"),
      memory("workspace") + memory("residuals") + memory("gradient"),
      memory("process now"),
      memory("process peak"),
      count(report.shortages),
      count(report.in_flight),
      count(report.rewinds)};
  return values[n];
}
