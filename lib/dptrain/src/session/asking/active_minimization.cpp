// Mode active in a minimization: what is found is learned when it has ended, as the energy must stay that of one model.

#include <optional>
#include <utility>

#include "session/asking/active_mode.h"

namespace dptrain {

void ActiveMode::minimization_step(Trajectory &run)
{
  model_moves_ = run.has_scores();
  if (learning_->is_shared())
    return;  // the others may learn at any time, but this energy must stay that of one model
  if (!run.has_scores() || run.step() % options_.every != 0 ||
      training_.counters().label_step == run.step())
    return;
  LabelRequest request = look(run);
  request.ask = decisions_.decide(step_, true, request.score);
  if (request.ask == Ask::no) return;
  std::vector<LabelRequest> requests = requests_around(run, request);
  if (!requests.empty()) return minimize_around(answers_around(std::move(requests)));
  const std::optional<Label> label = answer_to(run, request);
  if (!label) return;
  Outcome outcome = learning_->judge_awaited(request, *label);
  if (outcome.stored()) training_.uncertainty().remember(request.feature_sum, request.natoms());
  outcome.reference_moves = false;
  log_.line(request, outcome, jumps_.sum());
}

void ActiveMode::minimize_around(const std::vector<Answered> &answered)
{
  for (const Answered &one : answered) {
    if (one.outcome.stored())
      training_.uncertainty().remember(one.request.feature_sum, one.request.natoms());
    log_.line(one.request, one.outcome, jumps_.sum());
  }
}

}  // namespace dptrain
