// Mode active with `asynchronous`: requests that the run leaves with the reference, and labels that come while it goes on.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "session/asking/active_mode.h"

namespace dptrain {

// Above the limit the run waits, and where the reference moves the atoms, too; short runs that explore would be over before the first
// answer.
bool ActiveMode::may_leave(const StepView &now) const
{
  return options_.asynchronous > 0 && !is_exploring_ && now.model_moves &&
         (now.request.ask == Ask::threshold || now.request.ask == Ask::wall ||
          now.request.ask == Ask::audit);
}

void ActiveMode::leave(Trajectory &run, StepView &now)
{
  std::vector<LabelRequest> requests;
  if (learning_->has_room()) requests = requests_for(run, now);
  now.request.ask = Ask::no;
  const std::int64_t before = book_->num_left();
  for (LabelRequest &request : requests)
    if (learning_->has_room() && !learning_->resembles_left(request)) book_->leave(request);
  if (book_->num_left() == before) return;
  AnswerState &answer = training_.counters().answer;
  answer.step = now.step;
  answer.energy = now.request.energy;
  answer.reference_moved = false;
}

// Labels that have come meanwhile, and a slice of the training when it is due.
void ActiveMode::learn_what_has_come(Trajectory &run)
{
  if (std::exchange(prepares_, false)) prepare(run);
  learning_->take_answers();
  if (learning_->slice_is_due(run.has_bars()))
    learn_and_go_on(run, [this] { return learning_->learn_slice(); });
}

// The model changes amid a step: its energy jumps.
void ActiveMode::learn_and_go_on(Trajectory &run, const std::function<bool()> &learn)
{
  const bool has_model = run.has_bars();
  const double energy = has_model ? total_energy(*comm_, run) : 0.0;
  if (!learn() || !has_model) return;
  run.evaluate_again();
  run.follow_model();
  jumps_.learned(energy, total_energy(*comm_, run));
}

// Above the limit the run waits for what is with the reference, learns it, and looks at the step again.
void ActiveMode::catch_up(Trajectory &run, StepView &now)
{
  while (now.request.ask == Ask::limit && (book_->num_left() > 0 || learning_->owes_training())) {
    learn_and_go_on(run, [this] {
      if (!learning_->owes_training()) learning_->wait_for_answer();
      learning_->train_pending();
      return true;
    });
    now = look(run);
    choose_ask(now);
  }
}

}  // namespace dptrain
