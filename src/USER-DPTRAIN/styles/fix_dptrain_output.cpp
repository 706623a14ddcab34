/* ----------------------------------------------------------------------
   USER-DPTRAIN, a package of LAMMPS that trains potentials inside a run.
   Distributed under the GNU General Public License: see the file LICENSE.
------------------------------------------------------------------------- */

/* ----------------------------------------------------------------------
   Outputs: scalar = loss of the last optimizer step; vector, all intensive, at every step: what
   doc/src/fix_dptrain.rst lists, in its units. Errors are those of the last batch, before its step.
   While the reference drives the run, energy and virial of the pair style in thermo output are its.
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
