// Mode active with `reference run`: picks configurations worth a label out of a run or a rerun, and asks nobody.

#include <vector>

#include "atom.h"
#include "comm.h"
#include "dptrain/frames/whole_frame.h"
#include "error.h"
#include "fix_dptrain_data.h"
#include "update.h"
#include "utils.h"

using namespace LAMMPS_NS;

void FixDPTrain::select_step()
{
  Data &d = *data_;
  const dptrain::ActiveLearning &learning = *d.learning;
  if (update->ntimestep % d.options.every != 0) return;
  if (!d.pair->has_scores() || !learning.calibration().is_known())
    error->all(FLERR,
               "Fix dptrain: 'mode active' with 'reference run' needs a model that knows what its "
               "uncertainties mean, such as 'save' of a run with 'mode active' writes it: {} does "
               "not",
               d.slot->path);
  ++d.looked_at;
  const double expected = learning.expected_error(largest_score());
  d.expected_error = expected;
  if (!(expected > learning.threshold()) || is_duplicate()) return;
  const std::vector<double> no_forces(3 * static_cast<std::size_t>(atom->nlocal), 0.0);
  dptrain::WholeFrame frame =
      gather_atoms(lmp, d.slot->model_type, no_forces.data(), d.slot->cutoff, d.units);
  frame.label.force.clear();
  collective(lmp, "Fix dptrain",
             [&] { d.session->select(frame, fmt::format("expected_error={:.6g}", expected)); });
  if (comm->me == 0)
    utils::logmesg(lmp, "dptrain {:10} selected, expected error {:.4g}, {} of {} configurations\n",
                   update->ntimestep, expected * d.units.force(), d.session->counters.frames,
                   d.looked_at);
}

void FixDPTrain::print_selection() const
{
  const Data &d = *data_;
  if (comm->me == 0)
    utils::logmesg(lmp,
                   "Fix dptrain {}: {} of {} configurations selected, threshold {:.4g} (force "
                   "units): {}\n",
                   id, d.session->counters.frames, d.looked_at,
                   d.learning->threshold() * d.units.force(), d.options.dataset);
}
