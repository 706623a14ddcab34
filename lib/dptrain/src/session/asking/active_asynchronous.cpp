// Mode active with `asynchronous`: requests that the run leaves with the reference, and labels that come while it goes on.

#include <functional>
#include <vector>

#include "session/asking/active_mode.h"

namespace dptrain {

// Above the limit the run waits, and where the reference moves the atoms, too.
bool ActiveMode::may_leave(const LabelRequest &request) const
{
  return options_.asynchronous > 0 && model_moves_ &&
         (request.ask == Ask::threshold || request.ask == Ask::audit);
}

void ActiveMode::leave(Trajectory &run, LabelRequest &request)
{
  LabelRequest whole = request;
  request.ask = Ask::no;
  if (!learning_->has_room()) return;
  std::vector<LabelRequest> requests = requests_around(run, whole);
  if (requests.empty()) {
    book_->describe(run, whole);
    requests.push_back(whole);
  }
  const std::int64_t before = book_->num_left();
  for (LabelRequest &one : requests)
    if (learning_->has_room() && !learning_->resembles_left(one)) book_->leave(one);
  if (book_->num_left() == before) return;
  SessionCounters &counters = training_.counters();
  counters.answer_step = step_;
  counters.answer_energy = whole.energy;
  counters.reference_moved = false;
}

// At a step: labels that have come, and a slice of the training when it is due.
void ActiveMode::learn_beside(Trajectory &run)
{
  learning_->take_answers();
  if (learning_->slice_is_due(run.has_scores()))
    learn_and_go_on(run, [this] { return learning_->learn_slice(); });
}

// The model changes amid a step: its energy jumps.
void ActiveMode::learn_and_go_on(Trajectory &run, const std::function<bool()> &learn)
{
  const bool has_model = run.has_scores();
  const double energy = has_model ? total_energy(*comm_, run) : 0.0,
               score = has_model ? largest_score(run) : 0.0;
  if (!learn() || !has_model) return;
  run.evaluate_again();
  if (!learning_->owes_training()) keep_scale(run, score);
  run.follow_model();
  jumps_.learned(energy, total_energy(*comm_, run));
}

// Above the limit the run waits for what is with the reference, learns it, and looks at the step again.
void ActiveMode::catch_up(Trajectory &run, LabelRequest &request)
{
  while (request.ask == Ask::limit && (book_->num_left() > 0 || learning_->owes_training())) {
    learn_and_go_on(run, [this] {
      if (!learning_->owes_training()) learning_->wait_for_answer();
      learning_->train_pending();
      return true;
    });
    request = look(run);
    decide(request);
  }
}

}  // namespace dptrain
