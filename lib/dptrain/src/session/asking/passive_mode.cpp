#include "session/asking/passive_mode.h"

namespace dptrain {

// Of requests that an active run has left.
static void learn_late_labels(OnlineTraining &training, ReferenceDesk &desk)
{
  if (desk.num_left() == 0) return;
  for (AnsweredRequest &answer : desk.collect()) {
    if (desk.within_limit(answer.request, answer.label)) {
      answer.request.frame.label = answer.label;
      training.add(answer.request.frame);
    }
    desk.settle(answer.request.id);
  }
  training.train();
}

void passive_step(Trajectory &run, OnlineTraining &training, ReferenceDesk &desk,
                  const LearningOptions &options)
{
  learn_late_labels(training, desk);
  const bool due = run.step() % options.every == 0;
  const bool drives = options.runs_model && !training.counters().trained;
  if (!due && !drives) return;

  LabelRequest request;
  desk.describe(run, request);
  desk.submit(request);
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
