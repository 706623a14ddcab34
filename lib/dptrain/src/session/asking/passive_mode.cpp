#include "session/asking/passive_mode.h"

namespace dptrain {

// Of requests that an active run has left.
static void learn_late_labels(OnlineTraining &training, RequestBook &book)
{
  if (book.num_left() == 0) return;
  for (AnsweredRequest &answer : book.collect()) {
    if (!book.is_doubted(answer.request.id) && book.within_limit(answer.request, answer.label)) {
      answer.request.frame.label = answer.label;
      training.add(answer.request.frame);
    }
    book.settle(answer.request.id);
  }
  training.train();
}

// By what the model said before it learns.
static void calibrate(const LabelRequest &request, const Label &label, OnlineTraining &training,
                      ModelInUse &slot, BarCalibration &calibration)
{
  constexpr int few_labels = 3;  // those that came with the model hold until there are more
  if (request.distance.empty()) return;
  calibration.add(atom_errors(request, label));
  if (slot.model()->bars().is_known() && calibration.count() < few_labels) return;
  const ErrorBars bars =
      calibration.bars(slot.type_map().size(), "labels before they were learned");
  if (bars.is_known()) training.bar_monitor().set_bars(bars);
}

void passive_step(Trajectory &run, OnlineTraining &training, RequestBook &book, ModelInUse &slot,
                  BarCalibration &calibration, const LearningOptions &options)
{
  learn_late_labels(training, book);
  const bool due = run.step() % options.every == 0;
  const bool drives = options.runs_model && !training.counters().training.trained;
  if (!due && !drives) return;

  LabelRequest request;
  book.describe(run, request);
  if (due && run.has_bars() && slot.bars_wanted()) {
    request.force = run.forces();
    request.set_bars(run.all_bars(), slot.model()->bars());
  }
  book.submit(request);
  const std::optional<Label> label = book.await(request);
  if (!label) return;
  if (due && !book.is_doubted(request.id) && book.within_limit(request, *label) &&
      !training.is_latest(request.frame, *label)) {
    calibrate(request, *label, training, slot, calibration);
    request.frame.label = *label;
    training.add(request.frame);
    training.train();
  }
  if (drives || (options.runs_model && options.follow_reference)) run.follow(*label);
}

}  // namespace dptrain
