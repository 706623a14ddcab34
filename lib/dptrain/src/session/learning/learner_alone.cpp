#include "session/learning/learner_alone.h"

#include <utility>

namespace dptrain {

Outcome LearnerAlone::judge_awaited(const LabelRequest &request, const Label &label)
{
  awaited_ = request.id;
  queue({request, label});
  judge_queued();
  awaited_.reset();
  return *std::exchange(awaited_outcome_, {});
}

void LearnerAlone::take_answers()
{
  Learner::take_answers();
  judge_queued();
}

// A new model learns while the run waits.
bool LearnerAlone::slice_is_due(bool has_model)
{
  return training_.owes_steps() && has_model && !decisions().is_early();
}

bool LearnerAlone::learn_slice()
{
  if (!training_.owes_steps()) return false;
  double seconds = pace();
  run()->broadcast(&seconds, sizeof(seconds), 0);
  if (seconds == 0.0) return false;
  train_for(seconds);
  return true;
}

}  // namespace dptrain
