#include "session/passive_mode.h"

namespace dptrain {

void passive_step(Trajectory &run, OnlineTraining &training, ReferenceDesk &desk,
                  const LearningOptions &options)
{
  const bool due = run.step() % options.every == 0;
  const bool drives = options.runs_model && !training.counters().trained;
  if (!due && !drives) return;

  LabelRequest request;
  desk.submit(run, request);
  const std::optional<Label> label = desk.await(request);
  if (!label) return;
  if (due && desk.within_limit(request, *label) && !desk.is_stored(request, *label)) {
    request.frame.label = *label;
    training.add(request.frame);
    training.train();
  }
  if (drives || (options.runs_model && options.follow_reference)) run.follow(*label);
}

}  // namespace dptrain
