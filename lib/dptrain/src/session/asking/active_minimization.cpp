// Mode active in a minimization: what is found is learned when it has ended, as the energy must stay that of one model.

#include <utility>

#include "session/asking/active_mode.h"

namespace dptrain {

void ActiveMode::minimization_step(Trajectory &run)
{
  latest_.model_moves = run.has_bars();
  if (learning_->is_shared())
    return;  // the others may learn at any time, but this energy must stay that of one model
  if (!run.has_bars() || run.step() % options_.every != 0 ||
      training_.counters().frames.latest_step == run.step())
    return;
  StepView now = look(run);
  now.model_moves = true;
  now.request.ask = decisions_.decide(now.step, true, now.request.expected, now.close);
  std::vector<LabelRequest> requests;
  if (now.request.ask != Ask::no) requests = ask(run, now);
  for (Answer &answer : judge(std::move(requests))) {
    const LabelRequest &request = answer.request;
    if (answer.outcome.stored())
      training_.bar_monitor().remember(request.feature_sum, request.natoms());
    answer.outcome.reference_moves = false;
    log_.line(request, answer.outcome, jumps_.sum());
  }
  latest_ = std::move(now);
}

}  // namespace dptrain
