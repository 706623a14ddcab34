#include "session/passive_mode.h"

#include <utility>

namespace dptrain {

void PassiveMode::step(Trajectory &run)
{
  const bool due = run.step() % options_.every == 0;
  const bool drives = options_.runs_model && !training_.counters().trained;
  if (!due && !drives) return;

  LabelRequest request = desk_.submit(run, Ask::no, 0.0, 0.0);
  const std::optional<Label> label = desk_.await(request);
  if (!label) return;
  if (due && desk_.within_limit(request, *label) && !desk_.is_stored(request, *label)) {
    request.frame.label = *label;
    training_.add(request.frame);
    training_.train();
  }
  if (drives || (options_.runs_model && options_.follow_reference)) run.follow(*label);
}

}  // namespace dptrain
