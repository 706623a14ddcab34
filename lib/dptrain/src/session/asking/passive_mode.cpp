#include "session/asking/passive_mode.h"

namespace dptrain {

// Of requests that an active run has left.
static void learn_late_labels(OnlineTraining &training, RequestBook &book)
{
  if (book.num_left() == 0) return;
  for (AnsweredRequest &answer : book.collect()) {
    if (book.within_limit(answer.request, answer.label)) {
      answer.request.frame.label = answer.label;
      training.add(answer.request.frame);
    }
    book.settle(answer.request.id);
  }
  training.train();
}

void passive_step(Trajectory &run, OnlineTraining &training, RequestBook &book,
                  const LearningOptions &options)
{
  learn_late_labels(training, book);
  const bool due = run.step() % options.every == 0;
  const bool drives = options.runs_model && !training.counters().training.trained;
  if (!due && !drives) return;

  LabelRequest request;
  book.describe(run, request);
  book.submit(request);
  const std::optional<Label> label = book.await(request);
  if (!label) return;
  if (due && book.within_limit(request, *label) && !training.is_latest(request.frame, *label)) {
    request.frame.label = *label;
    training.add(request.frame);
    training.train();
  }
  if (drives || (options.runs_model && options.follow_reference)) run.follow(*label);
}

}  // namespace dptrain
