// What mode active of fix dptrain tells: a line for each answer, a summary for each run, warnings.

#include <algorithm>

#include "active_event.h"
#include "comm.h"
#include "error.h"
#include "fix_dptrain_data.h"
#include "platform.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

using dptrain::ActiveLearning;
using dptrain::Ask;
using Fate = ActiveEvent::Fate;

static constexpr double POOR_MODEL = 0.25;  // error of held-out frames over their forces

// Not where the threshold follows the errors.
void FixDPTrain::watch_threshold(const ActiveEvent &event)
{
  Data &d = *data_;
  if (d.options.threshold == 0.0 || event.ask == Ask::young) return;
  const double unit = d.units.force(), reached = d.learning->reached_error();
  const bool asked = event.ask == Ask::threshold || event.ask == Ask::limit;
  if (d.threshold_watch.add(asked, d.learning->threshold(), reached) && comm->me == 0)
    error->warning(
        FLERR,
        "Fix dptrain: step {}: threshold {:.4g} is below the error that the model reaches "
        "({:.4g}): the reference is asked at every check. Raise the threshold (or use "
        "'threshold auto'), train longer ('train'), or use a larger model",
        update->ntimestep, d.options.threshold, reached * unit);
}

void FixDPTrain::warn_of_close_atoms(double distance)
{
  if (data_->close_atoms_told) return;
  data_->close_atoms_told = true;
  if (comm->me == 0)
    error->warning(
        FLERR,
        "Fix dptrain: step {}: atoms are {:.4g} apart, closer than in the frames from which the "
        "model was made: its tables are extended, which takes time, and its forces "
        "are guesses there. The keyword 'guard' keeps atoms apart while the model is young",
        update->ntimestep, distance * data_->units.length);
}

// Since the books were opened: of the reference, of the training, and the rest.
std::array<double, 3> FixDPTrain::seconds_of_run() const
{
  const Data &d = *data_;
  const SessionCounters &counters = d.session->counters;
  const double reference = counters.reference_seconds - d.reference_before;
  const double training = counters.train_seconds - d.train_before;
  return {reference, training, platform::walltime() - d.run_start - reference - training};
}

void FixDPTrain::print_event(const ActiveEvent &event)
{
  Data &d = *data_;
  const double jump = (d.jumps.sum() - d.printed_jumps) * d.units.energy;
  d.printed_jumps = d.jumps.sum();
  if (comm->me != 0) return;
  const SessionCounters &counters = d.session->counters;
  const double unit = d.units.force();
  const auto [reference, training, md] = seconds_of_run();
  const auto number = [](bool known, double value) {
    return known ? fmt::format("{:.4g}", value) : std::string("-");
  };
  std::string learned = "-";
  if (event.fate == Fate::held_out) learned = "held_out";
  if (event.fate == Fate::duplicate) learned = "duplicate";
  if (event.learned_error > 0.0) learned = number(true, event.learned_error * unit);
  utils::logmesg(lmp,
                 "dptrain {:10} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9} {:7} {:7} {:>10.4g} {:9.2f} "
                 "{:9.2f} {:9.2f}\n",
                 update->ntimestep, dptrain::name_of(event.ask),
                 number(event.compared && event.expected > 0.0, event.expected * unit),
                 number(event.compared, event.comparison.max_error * unit),
                 number(event.compared, event.comparison.rms_error * unit), learned,
                 event.reference_moves ? "reference" : "model", counters.frames,
                 counters.reference_calls, jump, reference, training, md);
}

void FixDPTrain::print_summary() const
{
  const Data &d = *data_;
  const SessionCounters &counters = d.session->counters;
  const ActiveLearning &learning = *d.learning;
  const double unit = d.units.force();
  const auto [reference, training, md] = seconds_of_run();
  const double total = reference + training + md;
  const bigint steps = update->ntimestep - d.first_step,
               calls = counters.reference_calls - d.calls_before;
  if (comm->me != 0) return;
  const double percent = 100.0 / std::max(total, 1e-300);
  utils::logmesg(
      lmp,
      "Fix dptrain {}: {} steps, {} reference calls ({:.2f} %), {} frames\n"
      "  seconds: reference {:.2f} ({:.0f} %), training {:.2f} ({:.0f} %), MD {:.2f} ({:.0f} %), "
      "all {:.2f}\n"
      "  threshold {:.4g}, limit {:.4g}, scale of the uncertainty {:.4g} (force units)\n"
      "  largest errors over expected ones: mean {:.3g}, above 1 in {:.0f} % of the answers, rank "
      "correlation {:.2f}\n"
      "  audits: {}, {} above the threshold, {} above three thresholds\n"
      "  force rmse: last batch {:.4g}, held-out frames {:.4g}, forces of the latest label {:.4g}\n"
      "  jumps of the potential energy, sum of all runs: {:.6g} energy units\n",
      id, steps, calls, steps > 0 ? 100.0 * calls / steps : 0.0, counters.frames, reference,
      reference * percent, training, training * percent, md, md * percent, total,
      learning.threshold() * unit, learning.limit() * unit, learning.calibration().scale() * unit,
      learning.mean_ratio(), 100.0 * learning.part_above(), learning.rank_correlation(),
      learning.audits(), learning.audits_above(), learning.audits_far_above(),
      d.session->report().rmse("f") * unit, d.held_out_error * unit, learning.force() * unit,
      d.jumps.sum() * d.units.energy);
  if (!learning.is_growing() && d.held_out_error > POOR_MODEL * learning.force())
    error->warning(FLERR,
                   "Fix dptrain: on held-out frames the model's force error is {:.0f} % of the "
                   "forces: what moves the atoms is a poor potential. Train longer per label "
                   "('train', 'ema') or use a larger model; more labels alone do not help where "
                   "the error of the last batch is as large",
                   100.0 * d.held_out_error / learning.force());
}
